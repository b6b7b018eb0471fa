/// Who reads.
public struct User: Codable, Hashable, Sendable, Identifiable {
  public var id: String
  public var name: String

  public init(id: String, name: String) {
    self.id = id
    self.name = name
  }
}

/// What the API gives to a user who signs in: a token that expires, and one to get the next with.
struct Credential: Codable, Sendable {
  var access: String
  var refresh: String
  var user: User
}
