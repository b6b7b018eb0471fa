import ReactorCore

/// An event as one line of standard error.
enum TraceLine {
  static func text(_ event: ReactorEvent) -> String {
    // The key of an entry is the key of the records that it makes stale, so its method is GET.
    if case .outbox = event.kind { return oneLine("\(event.kind) \(event.key.url)") }
    return oneLine(event.description)
  }

  /// Returns `text` with escaped control characters and line separators. Text of a server can then
  /// neither break the line nor control the terminal.
  static func oneLine(_ text: String) -> String {
    var line = ""
    for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator: line += scalar.escaped(asASCII: true)
      default: line.unicodeScalars.append(scalar)
      }
    }
    return line
  }
}
