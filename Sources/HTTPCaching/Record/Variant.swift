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
    var names: Set<String> = []
    response.forEachElement(of: .vary) { names.insert($0.text.lowercased()) }
    guard !names.isEmpty else { return nil }
    let isMatchable = names.allSatisfy { $0 != "*" && HTTPField.Name($0) != nil }
    self.names = isMatchable ? names.sorted() : ["*"]
    digest = Self.digest(of: self.names, in: request)
  }

  /// Whether any request is answered by it: not where the response varies on what no request shows (`Vary: *`).
  public var isMatchable: Bool { names != ["*"] }

  /// Whether a request with these fields is answered by this variant.
  public func matches(_ request: HTTPFields) -> Bool {
    isMatchable && digest == Self.digest(of: names, in: request)
  }

  /// What ``digest`` is for a request with these fields.
  func digest(for request: HTTPFields) -> String { Self.digest(of: names, in: request) }

  /// Lines and the white space around their elements make no difference (RFC 9111 §4.1); nor does the case of languages and codings
  /// (RFC 9110 §12.5.4, §8.4.1).
  private static func digest(of names: [String], in request: HTTPFields) -> String {
    var hash = SHA256Digest()
    for name in names {
      guard let name = HTTPField.Name(name) else { continue }
      let isCaseless = name == .acceptLanguage || name == .acceptEncoding
      var elements: [String] = []
      request.forEachElement(of: name) {
        elements.append(isCaseless ? $0.bytes.latin1.lowercased() : $0.bytes.latin1)
      }
      hash.update(framed: name.canonicalName)
      // So that no value is taken for the name that follows, and one that is empty is told from none.
      hash.update(framed: request.contains(name) ? "\(elements.count)" : "none")
      for element in elements { hash.update(framed: element) }
    }
    return hash.hex()
  }
}
