import Foundation
import ReactorCore

/// Temporary ids in the JSON of mutations. An id occurs as a whole string, as the name of a member,
/// or as a whole number.
extension TemporaryIDs {
  /// Returns `arguments` with each string or number that is a temporary id replaced by the server's
  /// id; `nil` if it contains no temporary id.
  ///
  /// Only the bytes of the ids change, so that every number keeps its digits. A string stays a
  /// string, for a member of type `String`. A number that stands for two of the ids is unchanged,
  /// so that no wrong id is written.
  static func rewritten(_ arguments: Data, _ identities: [String: Data]) -> Data? {
    guard !identities.isEmpty else { return nil }
    let found = Occurrences(in: arguments)
    guard !found.isEmpty else { return nil }
    let held = found.held(of: identities)
    guard !held.isEmpty else { return nil }
    let replacements = Replacements(held)
    var rewritten = Data()
    var copied = 0
    var hasNewName = false
    Occurrences.scan(arguments) { occurrence in
      guard let json = replacements.json(for: occurrence) else { return }
      rewritten += arguments.dropFirst(copied).prefix(occurrence.range.lowerBound - copied)
      rewritten += json
      copied = occurrence.range.upperBound
      hasNewName = hasNewName || occurrence.isName
    }
    guard copied > 0 else { return nil }
    rewritten += arguments.dropFirst(copied)
    return hasNewName ? withoutRepeatedNames(rewritten, arguments, replacements) : rewritten
  }

  /// Returns `rewritten` if no object has a name twice. Otherwise, a member whose name now equals
  /// another's is dropped, since the other already has the server's id.
  private static func withoutRepeatedNames(_ rewritten: Data, _ original: Data, _ replacements: Replacements) -> Data? {
    guard let new = try? JSONValue(parsing: rewritten), let old = try? JSONValue(parsing: original) else { return nil }
    return new.memberCount == old.memberCount ? rewritten : try? replacements.rewrite(old).data()
  }

  /// The server's ids by the temporary ones, as strings and as numbers.
  private struct Replacements {
    private var ids: [String: JSONValue] = [:]
    private var numbers: [Int64: JSONValue] = [:]

    init(_ identities: [String: Data]) {
      var ambiguous: Set<Int64> = []
      for (temporary, json) in identities {
        guard TemporaryID.isTemporary(temporary), let id = try? JSONValue(parsing: json), id.idText != nil else {
          continue
        }
        ids[temporary] = id
        let number = TemporaryID.number64(of: temporary)
        if numbers.updateValue(id, forKey: number) != nil { ambiguous.insert(number) }
      }
      for number in ambiguous { numbers[number] = nil }
    }

    /// Returns the JSON that replaces an id; `nil` if it stays.
    func json(for occurrence: Occurrence) -> Data? {
      let value: JSONValue? =
        switch occurrence.id {
        case .string(let string): ids[string]?.idText.map(JSONValue.string)
        case .number(let number) where occurrence.isName: numbers[number]?.idText.map(JSONValue.string)
        case .number(let number): self.number(number)
        }
      return value.flatMap { try? $0.data() }
    }

    /// A string of digits fits a member of type Int, too.
    private func number(_ number: Int64) -> JSONValue? {
      guard let id = numbers[number], let text = id.idText else { return nil }
      return Int64(text).map(JSONValue.integer) ?? id
    }

    func rewrite(_ value: JSONValue) -> JSONValue {
      switch value {
      case .string(let string): ids[string]?.idText.map(JSONValue.string) ?? value
      case .integer(let integer): number(integer) ?? value
      case .array(let elements): .array(elements.map { rewrite($0) })
      case .object(let members): .object(rewrite(members))
      default: value
      }
    }

    private func rewrite(_ members: [String: JSONValue]) -> [String: JSONValue] {
      var rewritten: [String: JSONValue] = [:]
      var renamed: [(name: String, value: JSONValue)] = []
      for (name, value) in members.sorted(by: { $0.key < $1.key }) {
        if let text = (ids[name] ?? Int64(name).flatMap({ numbers[$0] }))?.idText {
          renamed.append((text, rewrite(value)))
        } else {
          rewritten[name] = rewrite(value)
        }
      }
      for (name, value) in renamed where rewritten[name] == nil { rewritten[name] = value }
      return rewritten
    }
  }
}

extension JSONValue {
  /// The text of an id: a string or an integer; `nil` for any other value.
  var idText: String? {
    switch self {
    case .string(let text): text
    case .integer(let number): String(number)
    case .unsigned(let number): String(number)
    default: nil
    }
  }

  /// The number of members of all objects in the value.
  fileprivate var memberCount: Int {
    switch self {
    case .object(let members): members.values.reduce(members.count) { $0 + $1.memberCount }
    case .array(let elements): elements.reduce(0) { $0 + $1.memberCount }
    default: 0
    }
  }
}

extension TemporaryIDs {
  /// A temporary id in a JSON text.
  struct Occurrence: Sendable {
    enum ID: Sendable {
      case string(String)
      case number(Int64)
    }

    let id: ID
    /// The offsets of its bytes, with the quotes of a string.
    let range: Range<Int>
    /// A Boolean value that indicates whether it is the name of a member.
    let isName: Bool
  }

  /// The temporary ids in a JSON text.
  struct Occurrences: Sendable, Equatable {
    private(set) var strings: Set<String> = []
    private(set) var numbers: Set<Int64> = []
    var isEmpty: Bool { strings.isEmpty && numbers.isEmpty }

    /// Returns `true` if an id occurs as a string or as a number.
    func holds(_ string: String) -> Bool {
      strings.contains(string) || numbers.contains(TemporaryID.number64(of: string))
    }

    /// Returns the ids that occur. An outbox may know thousands, and an entry has few.
    func held(of identities: [String: Data]) -> [String: Data] {
      // A number does not determine its string, so every id is compared.
      if !numbers.isEmpty { return identities.filter { holds($0.key) } }
      return strings.reduce(into: [:]) { $0[$1] = identities[$1] }
    }

    init(in json: Data) {
      var (strings, numbers) = (strings, numbers)
      Self.scan(json) { occurrence in
        switch occurrence.id {
        case .string(let string): strings.insert(string)
        case .number(let number): numbers.insert(number)
        }
      }
      (self.strings, self.numbers) = (strings, numbers)
    }

    /// Calls `body` with each temporary id, in order. Most texts have no id, so nothing is parsed.
    static func scan(_ json: Data, _ body: (Occurrence) -> Void) {
      json.withUnsafeBytes { bytes in
        var index = 0
        while index < bytes.count {
          switch bytes[index] {
          case UInt8(ascii: "\""): index = scanString(bytes, from: index, body)
          case UInt8(ascii: "-"):
            if let (number, range) = number(bytes, at: index) {
              body(Occurrence(id: .number(number), range: range, isName: false))
            }
            index += 1
          default: index += 1
          }
        }
      }
    }

    /// Reads a string, and returns the index behind it.
    private static func scanString(
      _ bytes: UnsafeRawBufferPointer, from quote: Int, _ body: (Occurrence) -> Void
    ) -> Int {
      var end = quote + 1
      var isEscaped = false
      while end < bytes.count, bytes[end] != UInt8(ascii: "\"") {
        if bytes[end] == UInt8(ascii: "\\") {
          isEscaped = true
          end += 1
        }
        end += 1
      }
      // The text ends in a string.
      guard end < bytes.count else { return bytes.count }
      let raw = bytes[(quote + 1)..<end]
      let isName = isName(bytes, endingAt: end)
      if let string = string(raw, isEscaped: isEscaped), TemporaryID.isTemporary(string) {
        body(Occurrence(id: .string(string), range: quote..<end + 1, isName: isName))
      } else if isName, raw.first == UInt8(ascii: "-"), let (number, range) = number(bytes, at: quote + 1),
        range.upperBound == end
      {
        // The name of a member of `[Int: Value]`.
        body(Occurrence(id: .number(number), range: quote..<end + 1, isName: true))
      }
      return end + 1
    }

    /// Returns the string of the bytes between quotes, if it may be an id.
    private static func string(_ raw: Slice<UnsafeRawBufferPointer>, isEscaped: Bool) -> String? {
      guard isEscaped else {
        return raw.count == TemporaryID.length ? String(decoding: raw, as: UTF8.self) : nil
      }
      // Each character may be written as `\u0000`.
      guard raw.count <= 6 * TemporaryID.length else { return nil }
      let quoted = Data("\"".utf8) + Data(raw) + Data("\"".utf8)
      guard case .string(let string)? = try? JSONValue(parsing: quoted) else { return nil }
      return string
    }

    private static func isName(_ bytes: UnsafeRawBufferPointer, endingAt quote: Int) -> Bool {
      let blanks: [UInt8] = [0x20, 0x09, 0x0A, 0x0D]
      return bytes[(quote + 1)...].first { !blanks.contains($0) } == UInt8(ascii: ":")
    }

    /// Returns the temporary id that begins with a sign, and its range.
    private static func number(_ bytes: UnsafeRawBufferPointer, at sign: Int) -> (Int64, Range<Int>)? {
      let digits = bytes[(sign + 1)...].prefix(17).prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      let next = digits.endIndex < bytes.count ? bytes[digits.endIndex] : 0
      guard digits.count == 16, ![UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E")].contains(next),
        let number = Int64(String(decoding: bytes[sign..<digits.endIndex], as: UTF8.self)),
        TemporaryID.isTemporary(number)
      else { return nil }
      return (number, sign..<digits.endIndex)
    }
  }
}
