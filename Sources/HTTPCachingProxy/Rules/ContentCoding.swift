import HTTPTypes

/// The codings of a stored response, compared with the codings that a client accepts (RFC 9110
/// §8.4.1, §12.5.3).
enum ContentCoding {
  /// Returns whether a client accepts a stored response by its `Content-Encoding`.
  ///
  /// A request without `Accept-Encoding` accepts every coding. An unregistered name does not count
  /// as a coding, since some servers send such a name with uncoded bytes.
  static func isAcceptable(_ stored: HTTPFields, to request: HTTPFields) -> Bool {
    guard stored.contains(.contentEncoding), request.contains(.acceptEncoding) else { return true }
    var accepted: [String: Bool] = [:]
    request.forEachElement(of: .acceptEncoding) { element in
      let parts = element.text.lowercased().split(separator: ";", omittingEmptySubsequences: false)
        .map { $0.filter { $0 != " " && $0 != "\t" } }
      accepted[name(parts[0])] = !parts.dropFirst().contains { isZero($0) }
    }
    var isAcceptable = true
    stored.forEachElement(of: .contentEncoding) { element in
      let coding = name(element.text.lowercased())
      if registered.contains(coding), !(accepted[coding] ?? accepted["*"] ?? false) { isAcceptable = false }
    }
    return isAcceptable
  }

  /// Returns whether a parameter is a weight of zero, which forbids the coding (§12.4.2).
  private static func isZero(_ parameter: String) -> Bool {
    parameter.hasPrefix("q=") && parameter.dropFirst(2).first == "0"
      && parameter.dropFirst(2).allSatisfy { "0.".contains($0) }
  }

  private static func name(_ coding: String) -> String { coding.hasPrefix("x-") ? String(coding.dropFirst(2)) : coding }

  private static let registered: Set<String> = ["gzip", "compress", "deflate", "br", "zstd", "dcb", "dcz"]
}
