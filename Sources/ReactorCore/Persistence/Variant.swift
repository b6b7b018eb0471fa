public import HTTPTypes

/// The request's fields that a response varies on, digested (RFC 9111 §4.1).
public struct Variant: Sendable, Hashable {
  /// The names that `Vary` lists, lower-cased and sorted; `*` alone where no request can be matched.
  public let names: [String]
  /// SHA-256 of the named fields' values in the request that was answered.
  public let digest: String

  public init(names: [String], digest: String) {
    self.names = names
    self.digest = digest
  }

  /// The variant that a response with these fields belongs to; `nil` where it does not vary.
  public init?(response: HTTPFields, request: HTTPFields) {
    let names = Set(
      response[values: .vary].flatMap { $0.split(separator: ",") }
        .map { $0.filter { !$0.isWhitespace }.lowercased() }
        .filter { !$0.isEmpty })
    guard !names.isEmpty else { return nil }
    let isMatchable = names.allSatisfy { $0 != "*" && HTTPField.Name($0) != nil }
    self.names = isMatchable ? names.sorted() : ["*"]
    digest = Self.digest(of: self.names, in: request)
  }

  /// Whether a request with these fields is answered by this variant.
  public func matches(_ request: HTTPFields) -> Bool {
    names != ["*"] && digest == Self.digest(of: names, in: request)
  }

  private static func digest(of names: [String], in request: HTTPFields) -> String {
    var hash = SHA256Digest()
    for name in names {
      guard let name = HTTPField.Name(name) else { continue }
      let values = request[values: name]
      hash.update(framed: name.canonicalName)
      // So that no value is taken for the name that follows.
      hash.update(framed: "\(values.count)")
      for value in values { hash.update(framed: value) }
    }
    return hash.hex()
  }
}
