import ReactorCore

/// An error in words that hold nothing of a body: what was expected there may be shown, what was found may not.
enum Reason {
  static func text(_ error: ReactorError) -> String {
    if case .parser(let error) = error { "the response cannot be read: \(text(error))" } else { error.reason }
  }

  static func text(_ error: ParserError) -> String {
    // An unacceptable value is often quoted by whoever refused it.
    var text = error.reason == .unacceptable ? "a value is not acceptable" : error.expected
    if !error.codingPath.isEmpty { text += " at \(error.codingPath)" }
    if let position = error.position { text += ", \(position)" }
    return text
  }
}
