/// The help of a command in the order in which it is read.
enum HelpText {
  /// Returns the help with the usage first and the prose last.
  ///
  /// The parser puts all prose above the usage: for `reactor proxy`, a page of it.
  static func usageFirst(_ help: String) -> String {
    let paragraphs = help.split(separator: "\n\n", omittingEmptySubsequences: false)
    guard let abstract = paragraphs.first, abstract.hasPrefix("OVERVIEW: "),
      let usage = paragraphs.firstIndex(where: { $0.hasPrefix("USAGE: ") })
    else { return help }
    let prose = paragraphs[1..<usage]
    let options = paragraphs[(usage + 1)...].map { $0.hasSuffix("\n") ? $0.dropLast() : $0 }
    let parts = [paragraphs[usage], abstract] + options + prose
    return parts.joined(separator: "\n\n")
  }
}

/// The exit codes of a command as the last part of its help.
enum ExitCodes {
  /// Returns a heading, and a line for each code.
  static func help(_ codes: KeyValuePairs<Int32, String>) -> String {
    let lines = codes.map { code, text in
      String(repeating: " ", count: 6 - "\(code)".count) + "\(code)  \(text)"
    }
    return (["EXIT CODES:"] + lines).joined(separator: "\n")
  }
}
