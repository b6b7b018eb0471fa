import Foundation

/// Query items whose value may be said nowhere.
enum SecretQuery {
  /// `url` with the value of each named item replaced by its SHA-256, so that it still tells two requests apart.
  ///
  /// - Parameter names: compared without regard to case, after percent-decoding.
  static func redact(_ url: String, names: Set<String>) -> String {
    guard !names.isEmpty, let mark = url.firstIndex(of: "?") else { return url }
    let secret = Set(names.map { $0.lowercased() })
    let items = url[url.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false)
    let redacted = items.map { item -> String in
      guard let equals = item.firstIndex(of: "=") else { return String(item) }
      let name = String(item[..<equals])
      guard secret.contains((name.removingPercentEncoding ?? name).lowercased()) else { return String(item) }
      return "\(name)=sha256-\(SHA256Digest.hex(Array(item[item.index(after: equals)...].utf8)))"
    }
    return url[...mark] + redacted.joined(separator: "&")
  }
}
