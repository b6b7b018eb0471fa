/// A value of `Content-Type` (RFC 9110 §8.3).
package enum ContentType {
  /// Returns the charset of a text in lower case (RFC 9110 §8.3.2), or UTF-8 if the value names
  /// none.
  package static func charset(of value: String?) -> String {
    for parameter in value?.split(separator: ";").dropFirst() ?? [] {
      let parts = parameter.lowercased().split(separator: "=", maxSplits: 1).map { $0.filter { !" \t\"".contains($0) } }
      if parts.count == 2, parts[0] == "charset" { return parts[1] }
    }
    return "utf-8"
  }
}
