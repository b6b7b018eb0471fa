import ReactorCore

/// The text of an error without any part of a body. It may say what was expected, but not what was
/// found.
enum Reason {
  static func text(_ error: ReactorError) -> String {
    if case .parser(let error) = error { "the response cannot be read: \(text(error))" } else { error.reason }
  }

  static func text(_ error: ParserError) -> String {
    // The text of an unacceptable value often quotes the value.
    var text = error.reason == .unacceptable ? "a value is not valid" : error.expected
    if !error.codingPath.isEmpty { text += " at \(error.codingPath)" }
    if let position = error.position { text += ", \(position)" }
    return text
  }
}
