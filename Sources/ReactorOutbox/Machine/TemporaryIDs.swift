import Foundation
import ReactorCore

/// The temporary ids in the entries of an outbox: which entry gives each of them, and which wait
/// for it.
///
/// The earliest entry that holds an id as a string is the one that gives it. An id occurs as a
/// whole JSON string or number.
struct TemporaryIDs: Sendable {
  /// The entries that give an id.
  private var owners: [String: UUID] = [:]
  /// The strings of the ids, by the number that stands for each of them.
  private var strings: [Int64: String] = [:]
  /// The ids that an entry holds and does not give.
  private var held: [UUID: Set<String>] = [:]
  private var owned: [UUID: Set<String>] = [:]

  /// Notes the ids of an entry. An entry that is known already gives what it gave before.
  mutating func note(_ entry: OutboxEntry) {
    guard entry.isInLane || entry.state == .unresolved else { return entry.state == .accepted ? forget(entry.id) : () }
    let found = Occurrences(in: entry.arguments)
    guard !found.isEmpty || held[entry.id] != nil else { return }
    var holds: Set<String> = []
    for string in found.strings {
      let owner = owners[string] ?? entry.id
      guard owner == entry.id else {
        holds.insert(string)
        continue
      }
      owners[string] = entry.id
      owned[entry.id, default: []].insert(string)
      strings[Int64(TemporaryID.number(of: string))] = string
    }
    for number in found.numbers {
      if let string = strings[number], owners[string] != entry.id { holds.insert(string) }
    }
    held[entry.id] = holds.isEmpty ? nil : holds
  }

  /// Forgets an entry. Those that wait for its ids wait no longer.
  mutating func forget(_ id: UUID) {
    for string in owned.removeValue(forKey: id) ?? [] {
      owners[string] = nil
      strings[Int64(TemporaryID.number(of: string))] = nil
    }
    held[id] = nil
  }

  /// Returns the entry whose id `id` waits for; `nil` if it waits for none.
  func owner(awaitedBy id: UUID) -> UUID? {
    guard let held = held[id] else { return nil }
    return held.sorted().lazy.compactMap { owners[$0] }.first
  }

  /// Returns the entries that hold an id that `id` gives.
  func holders(ofIDsOf id: UUID) -> Set<UUID> {
    guard let strings = owned[id] else { return [] }
    return Set(held.filter { !$0.value.isDisjoint(with: strings) }.keys)
  }

  /// Returns the entries that hold `temporary`.
  func holders(of temporary: String) -> Set<UUID> { Set(held.filter { $0.value.contains(temporary) }.keys) }

  /// The first of the ids that an entry gives, for a message.
  func firstID(ofIDsOf id: UUID) -> String? { owned[id]?.min() }

  /// Returns `arguments` with each string or number that is a temporary id replaced by the given
  /// one; `nil` if there is none.
  static func rewritten(_ arguments: Data, _ identities: [String: Data]) -> Data? {
    guard !identities.isEmpty, !Occurrences(in: arguments).isEmpty else { return nil }
    guard let value = try? JSONValue(parsing: arguments) else { return nil }
    var ids: [String: JSONValue] = [:]
    var numbers: [Int64: JSONValue] = [:]
    for (temporary, json) in identities {
      guard let id = try? JSONValue(parsing: json) else { continue }
      ids[temporary] = id
      numbers[Int64(TemporaryID.number(of: temporary))] = id
    }
    var isChanged = false
    let rewritten = rewrite(value, ids, numbers, &isChanged)
    return isChanged ? try? rewritten.data() : nil
  }

  private static func rewrite(
    _ value: JSONValue, _ ids: [String: JSONValue], _ numbers: [Int64: JSONValue], _ isChanged: inout Bool
  ) -> JSONValue {
    switch value {
    case .string(let string):
      guard let id = ids[string] else { return value }
      isChanged = true
      // A member of type String stays one.
      if case .integer(let number) = id { return .string(String(number)) }
      return id
    case .integer(let number):
      guard let id = numbers[number] else { return value }
      isChanged = true
      if case .string(let string) = id, let number = Int64(string) { return .integer(number) }
      return id
    case .array(let elements): return .array(elements.map { rewrite($0, ids, numbers, &isChanged) })
    case .object(let members): return .object(members.mapValues { rewrite($0, ids, numbers, &isChanged) })
    default: return value
    }
  }
}

extension TemporaryIDs {
  /// The temporary ids in a JSON text.
  private struct Occurrences {
    var strings: Set<String> = []
    var numbers: Set<Int64> = []
    var isEmpty: Bool { strings.isEmpty && numbers.isEmpty }

    /// Scans the bytes. Most texts have none, so nothing is parsed. A string that only contains an
    /// id is found too if a quotation mark precedes it; it is then longer, and is left out.
    init(in json: Data) {
      json.withUnsafeBytes { bytes in
        var index = 0
        while index < bytes.count {
          switch bytes[index] {
          case UInt8(ascii: "\""): noteString(bytes, after: index)
          case UInt8(ascii: "-"): noteNumber(bytes, at: index)
          default: break
          }
          index += 1
        }
      }
    }

    private mutating func noteString(_ bytes: UnsafeRawBufferPointer, after quote: Int) {
      let end = quote + 1 + 40
      guard end < bytes.count, bytes[end] == UInt8(ascii: "\""), bytes[quote + 1] == UInt8(ascii: "t") else { return }
      let string = String(decoding: bytes[(quote + 1)..<end], as: UTF8.self)
      if TemporaryID.isTemporary(string) { strings.insert(string) }
    }

    private mutating func noteNumber(_ bytes: UnsafeRawBufferPointer, at sign: Int) {
      let digits = bytes[(sign + 1)...].prefix(17).prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      guard digits.count == 16, let number = Int64(String(decoding: bytes[sign..<digits.endIndex], as: UTF8.self)),
        TemporaryID.isTemporary(number)
      else { return }
      numbers.insert(number)
    }
  }
}
