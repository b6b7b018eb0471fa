/// A reader with an account.
public struct User: Codable, Hashable, Sendable, Identifiable {
  public var id: String
  public var name: String

  public init(id: String, name: String) {
    self.id = id
    self.name = name
  }
}

/// The answer to a sign-in: an access token that expires, and a refresh token for the next one.
struct Credential: Codable, Sendable {
  var access: String
  var refresh: String
  var user: User
}
