import ServerSentEvents

/// A parser that has the whole stream, as WHATWG HTML §9.2.6 says it: it decodes, splits into
/// lines, and goes through them. Scalars, since a CRLF is one character.
enum Reference {
  private typealias Text = String.UnicodeScalarView.SubSequence

  static func parsed(_ bytes: [UInt8]) -> Parsed {
    var text = String(decoding: bytes, as: UTF8.self).unicodeScalars[...]
    if text.first == "\u{FEFF}" { text.removeFirst() }
    var (parsed, type, data, id) = (Parsed(), "", "", "")
    var retry: Duration?
    for line in lines(of: text) {
      if line.isEmpty {
        parsed.position = id
        if !data.isEmpty {
          data.unicodeScalars.removeLast()
          parsed.events.append(
            ServerSentEvent(type: type.isEmpty ? "message" : type, data: data, id: id, retry: retry))
        }
        (type, data, retry) = ("", "", nil)
        continue
      }
      let (name, value) = field(line)
      switch name {
      case "event": type = value
      case "data": data += value + "\n"
      case "id":
        if value.unicodeScalars.contains("\0") { continue }
        // The limit of the parser, which ends the stream.
        if value.utf8.count > 1_024 { return parsed }
        id = value
      case "retry":
        guard !value.isEmpty, value.unicodeScalars.allSatisfy({ ("0"..."9").contains($0) }) else { continue }
        retry = .milliseconds(min(Int64(value) ?? .max, 365 * 86_400_000))
        parsed.retry = retry
      default: break
      }
    }
    return parsed
  }

  /// The lines that end, without the last one, which does not.
  private static func lines(of text: Text) -> [Text] {
    var (lines, start, index) = ([Text](), text.startIndex, text.startIndex)
    while index < text.endIndex {
      let next = text.index(after: index)
      if text[index] == "\n" || text[index] == "\r" {
        lines.append(text[start..<index])
        start = next
        if text[index] == "\r", next < text.endIndex, text[next] == "\n" { start = text.index(after: next) }
        index = start
      } else {
        index = next
      }
    }
    return lines
  }

  private static func field(_ line: Text) -> (name: String, value: String) {
    let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    var value = parts.count == 2 ? parts[1] : line.prefix(0)
    if value.first == " " { value.removeFirst() }
    return (String(parts[0]), String(value))
  }
}
