import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The words for an error that may hold a secret.
enum Redaction {
  /// An error in the words that its author chose, or else the name of its type and case.
  ///
  /// What an error carries is not printed: it may be a URL, a response, or another error with either in its `userInfo`.
  static func describe(_ error: any Error) -> String {
    if let error = error as? URLError { return URLErrorText(error).reason }
    if let error = error as? ReactorError { return error.reason }
    if error is any CustomNSError || type(of: error) is NSError.Type {
      let error = error as NSError
      return "\(error.domain) \(error.code)"
    }
    if let text = (error as? any LocalizedError)?.errorDescription { return withoutQueries(text) }
    let value: Any = error
    if value is any CustomStringConvertible || value is any CustomDebugStringConvertible {
      return withoutQueries(String(describing: error))
    }
    return name(of: error)
  }

  private static func name(of error: any Error) -> String {
    let type = "\(type(of: error))"
    let mirror = Mirror(reflecting: error)
    guard mirror.displayStyle == .enum else { return type }
    return "\(type).\(mirror.children.first?.label ?? "\(error)")"
  }

  /// Returns `text` without the queries, fragments, users and passwords of its URLs, and without the queries of its paths.
  ///
  /// An error does not know which items are secret here, so that all are dropped.
  private static func withoutQueries(_ text: String) -> String {
    var (words, rest) = ([UInt8](), Array(text.utf8)[...])
    while !rest.isEmpty {
      let word = rest.prefix { !SecretScanner.isNoPartOfURL($0) }
      words += withoutQuery(word)
      rest = rest[word.endIndex...]
      words += rest.prefix(1)
      rest = rest.dropFirst()
    }
    return SecretQuery.redact(text: String(decoding: words, as: UTF8.self), with: "…")
  }

  private static func withoutQuery(_ word: ArraySlice<UInt8>) -> [UInt8] {
    guard let mark = word.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }),
      word[mark...].contains(UInt8(ascii: "=")) || word[..<mark].firstRange(of: Array("://".utf8)) != nil
    else { return Array(word) }
    return word[...mark] + Array("…".utf8)
  }
}
