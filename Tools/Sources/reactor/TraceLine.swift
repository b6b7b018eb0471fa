import ReactorCore

/// An event as one line of standard error.
enum TraceLine {
  static func text(_ event: ReactorEvent) -> String { oneLine(event.description) }

  /// `text` with control characters and line separators escaped, so that what a server sent can neither break the line nor steer a
  /// terminal.
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
