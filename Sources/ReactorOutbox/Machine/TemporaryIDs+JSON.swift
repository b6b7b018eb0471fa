import Foundation
import ReactorCore

/// Temporary ids in the JSON of mutations. An id occurs as a whole string, as the name of a member,
/// or as a whole number.
extension TemporaryIDs {
  /// Returns `arguments` with each string or number that is a temporary id replaced by the given
  /// one; `nil` if there is none.
  ///
  /// A string stays a string, for a member of type `String`. A number that stands for two of the
  /// ids is left as it is, so that nothing is written to the wrong place.
  static func rewritten(_ arguments: Data, _ identities: [String: Data]) -> Data? {
    guard !identities.isEmpty else { return nil }
    let found = Occurrences(in: arguments)
    guard !found.isEmpty else { return nil }
    let held = found.held(of: identities)
    guard !held.isEmpty, let value = try? JSONValue(parsing: arguments) else { return nil }
    var rewriting = Rewriting(held)
    let rewritten = rewriting.rewrite(value)
    return rewriting.isChanged ? try? rewritten.data() : nil
  }

  /// The replacement of temporary ids in a value.
  private struct Rewriting {
    private var ids: [String: JSONValue] = [:]
    private var numbers: [Int64: JSONValue] = [:]
    var isChanged = false

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

    mutating func rewrite(_ value: JSONValue) -> JSONValue {
      switch value {
      case .string(let string):
        guard let text = ids[string]?.idText else { return value }
        isChanged = true
        return .string(text)
      case .integer(let number):
        guard let id = numbers[number], let text = id.idText else { return value }
        isChanged = true
        // A string of digits fits a member of type Int, too.
        return Int64(text).map(JSONValue.integer) ?? id
      case .array(let elements): return .array(elements.map { rewrite($0) })
      case .object(let members): return .object(rewrite(members))
      default: return value
      }
    }

    /// A member whose name becomes that of another is dropped: the other has the server's id
    /// already.
    private mutating func rewrite(_ members: [String: JSONValue]) -> [String: JSONValue] {
      var rewritten: [String: JSONValue] = [:]
      var renamed: [(name: String, value: JSONValue)] = []
      for (name, value) in members.sorted(by: { $0.key < $1.key }) {
        let value = rewrite(value)
        if let id = ids[name] ?? Int64(name).flatMap({ numbers[$0] }), let text = id.idText {
          isChanged = true
          renamed.append((text, value))
        } else {
          rewritten[name] = value
        }
      }
      for (name, value) in renamed where rewritten[name] == nil { rewritten[name] = value }
      return rewritten
    }
  }
}

extension JSONValue {
  /// The text of an id: a string or an integer; `nil` for any other value.
  fileprivate var idText: String? {
    switch self {
    case .string(let text): text
    case .integer(let number): String(number)
    case .unsigned(let number): String(number)
    default: nil
    }
  }
}

extension TemporaryIDs {
  /// The temporary ids in a JSON text.
  struct Occurrences: Sendable, Equatable {
    private(set) var strings: Set<String> = []
    private(set) var numbers: Set<Int64> = []
    var isEmpty: Bool { strings.isEmpty && numbers.isEmpty }

    /// Returns `true` if an id occurs as a string or as a number.
    func holds(_ string: String) -> Bool {
      strings.contains(string) || numbers.contains(TemporaryID.number64(of: string))
    }

    /// Returns those of the ids that occur. An outbox may know thousands, and an entry has few.
    func held(of identities: [String: Data]) -> [String: Data] {
      // A number says nothing about its string, so that every id is compared.
      if !numbers.isEmpty { return identities.filter { holds($0.key) } }
      return strings.reduce(into: [:]) { $0[$1] = identities[$1] }
    }

    /// Scans the bytes. Most texts have no id, so nothing is parsed.
    init(in json: Data) {
      json.withUnsafeBytes { bytes in
        var index = 0
        while index < bytes.count {
          switch bytes[index] {
          case UInt8(ascii: "\""): index = noteString(bytes, after: index)
          case UInt8(ascii: "-"):
            noteNumber(bytes, at: index)
            index += 1
          default: index += 1
          }
        }
      }
    }

    /// Reads a string, and returns the index behind it.
    private mutating func noteString(_ bytes: UnsafeRawBufferPointer, after quote: Int) -> Int {
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
      if raw.count == TemporaryID.length, !isEscaped {
        note(String(decoding: raw, as: UTF8.self))
      } else if isEscaped, raw.count <= 6 * TemporaryID.length {
        // Each character may be written as `\u0000`.
        let quoted = Data(bytes[quote...end])
        if case .string(let string)? = try? JSONValue(parsing: quoted) { note(string) }
      } else if raw.first == UInt8(ascii: "-"), Self.isName(bytes, endingAt: end) {
        // The name of a member of `[Int: Value]`.
        noteNumber(bytes, at: quote + 1)
      }
      return end + 1
    }

    private mutating func note(_ string: String) {
      if TemporaryID.isTemporary(string) { strings.insert(string) }
    }

    private static func isName(_ bytes: UnsafeRawBufferPointer, endingAt quote: Int) -> Bool {
      let blanks: [UInt8] = [0x20, 0x09, 0x0A, 0x0D]
      return bytes[(quote + 1)...].first { !blanks.contains($0) } == UInt8(ascii: ":")
    }

    private mutating func noteNumber(_ bytes: UnsafeRawBufferPointer, at sign: Int) {
      let digits = bytes[(sign + 1)...].prefix(17).prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      let next = digits.endIndex < bytes.count ? bytes[digits.endIndex] : 0
      guard digits.count == 16, ![UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E")].contains(next),
        let number = Int64(String(decoding: bytes[sign..<digits.endIndex], as: UTF8.self)),
        TemporaryID.isTemporary(number)
      else { return }
      numbers.insert(number)
    }
  }
}
