import HTTPTypes

/// The charset of a text (RFC 9110 §8.3.2).
enum Charset {
  /// Returns the charset that `Content-Type` names, in lower case; UTF-8 where it names none.
  static func name(in fields: HTTPFields) -> String {
    for parameter in fields[.contentType]?.split(separator: ";").dropFirst() ?? [] {
      let parts = parameter.lowercased().split(separator: "=", maxSplits: 1).map { $0.filter { !" \t\"".contains($0) } }
      if parts.count == 2, parts[0] == "charset" { return parts[1] }
    }
    return "utf-8"
  }
}
