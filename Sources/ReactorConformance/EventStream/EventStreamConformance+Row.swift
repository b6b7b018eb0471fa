import Foundation
import ServerSentEvents

extension EventStreamConformance {
  /// A row of the page *The rules of event streams*, as the page has it.
  package struct Row: Sendable, Hashable {
    package let number: Int
    package let rule: String
    package let stream: String
    package let events: String
    package let then: String

    init(_ number: Int, _ rule: String, _ stream: String, _ events: String, then: String = "") {
      self.number = number
      self.rule = rule
      self.stream = stream
      self.events = events
      self.then = then
    }

    /// The cells of the row in the page.
    package var cells: [String] { ["\(number)", rule, stream, events, then] }

    var name: String { "row \(number), \(stream)" }

    /// The bytes of the stream.
    package var bytes: [UInt8] { Self.bytes(String(stream.dropFirst().dropLast())) }

    /// Returns the first difference between the row and `parsed`; `nil` for none.
    func difference(from parsed: Parsed) -> String? {
      let (found, expected) = (parsed.events.map { Event($0) }, expectedEvents)
      // Without an id, the row leaves it open.
      let areEqual = found.elementsEqual(expected) {
        $0.data == $1.data && $0.type == $1.type && ($1.id ?? $0.id) == $0.id
      }
      guard areEqual else { return "expected \(events), parsed \(parsed.events)" }
      guard let position = parsed.lastEventID else { return nil }
      if let expected = word("id"), Self.text(expected) != position {
        return "expected the position \(expected), parsed \(position)"
      }
      if let expected = word("retry"), expected != "any", expected != parsed.retry.map({ "\($0)" }) ?? "none" {
        return "expected the wait \(expected), parsed \(String(describing: parsed.retry))"
      }
      return nil
    }

    fileprivate struct Event: Equatable {
      var data: String
      var type: String
      var id: String?
    }

    private var expectedEvents: [Event] {
      events.matches(of: #/`([^`]*)`(?: of type `([^`]*)`)?(?: with id `([^`]*)`)?/#).map {
        Event(data: Self.text(String($0.1)), type: $0.2.map(String.init) ?? "message", id: $0.3.map(String.init))
      }
    }

    /// The word behind `name` in the last cell.
    private func word(_ name: String) -> String? {
      let words = then.split(separator: " ").map { String($0.filter { $0 != "`" }) }
      return words.firstIndex(of: name).map { words[$0 + 1] }
    }

    private static func text(_ cell: String) -> String {
      cell == "\"\"" ? "" : String(decoding: bytes(cell), as: UTF8.self)
    }

    private static func bytes(_ cell: String) -> [UInt8] {
      var (bytes, rest) = ([UInt8](), cell.unicodeScalars[...])
      while let scalar = rest.popFirst() {
        switch scalar {
        case "¶": bytes.append(0x0A)
        case "⏎": bytes.append(0x0D)
        case "⇥": bytes.append(0x09)
        case "\\":
          bytes.append(UInt8(String(String.UnicodeScalarView(rest.dropFirst().prefix(2))), radix: 16) ?? 0)
          rest = rest.dropFirst(3)
        default: bytes.append(contentsOf: Character(scalar).utf8)
        }
      }
      return bytes
    }
  }
}

extension EventStreamConformance.Row.Event {
  init(_ event: ServerSentEvent) { self.init(data: event.data, type: event.type, id: event.id) }
}
