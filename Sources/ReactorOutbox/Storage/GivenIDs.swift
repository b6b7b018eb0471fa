package import Foundation

/// The ids from servers, in the order in which they were given first.
///
/// An id is needed while a stored entry or a view holds the temporary one. A store keeps each that
/// an entry contains, and ``limit`` of the others, the latest. It looks for the others only once
/// ``slack`` more have come, since that reads every entry.
package struct GivenIDs: Sendable, Equatable {
  /// The number of ids that are kept though no entry contains them.
  package static let limit = 1_000
  /// The number of further ids after which the old ones are removed.
  package static let slack = 250

  private struct Given: Equatable {
    var json: Data
    var place: Int
  }

  private var ids: [String: Given] = [:]
  private var last = 0
  /// The number of ids that the latest clean-up kept.
  private var kept = 0

  var isEmpty: Bool { ids.isEmpty }
  /// A Boolean value that indicates whether old ids are to be removed.
  var isDue: Bool { ids.count > max(kept, Self.limit) + Self.slack }
  var contents: [String: Data] { ids.mapValues(\.json) }
  /// The ids in their order.
  var inOrder: [(temporary: String, json: Data)] {
    ids.sorted { $0.value.place < $1.value.place }.map { ($0.key, $0.value.json) }
  }

  subscript(temporary: String) -> Data? { ids[temporary]?.json }

  mutating func give(_ temporary: String, _ json: Data) {
    if ids[temporary] == nil { last += 1 }
    ids[temporary, default: Given(json: json, place: last)].json = json
  }

  /// Removes the old ids that no entry contains.
  ///
  /// - Parameter entries: The bytes of the stored entries.
  /// - Returns: The removed ids.
  mutating func removeOld(unlessIn entries: some Sequence<Data>) -> [(temporary: String, json: Data)] {
    var held = HeldIDs()
    for bytes in entries { held.note(bytes) }
    let old = inOrder.dropLast(Self.limit).filter { !held.contains($0.temporary) }
    for id in old { ids[id.temporary] = nil }
    kept = ids.count
    return old
  }
}

/// The temporary ids in the bytes of entries, as strings and as numbers. Every occurrence counts,
/// whatever its meaning, so that no id is missed.
package struct HeldIDs {
  private var strings: Set<String> = []
  private var numbers: Set<Int64> = []

  package init() {}

  package func contains(_ temporary: String) -> Bool {
    strings.contains(temporary) || numbers.contains(TemporaryID.number64(of: temporary))
  }

  /// The ids as text, which ``note(_:)`` finds again. A user's text that only begins as an id does
  /// is not among them.
  package var texts: [String] {
    strings.filter(TemporaryID.isTemporary).sorted() + numbers.sorted().map(String.init)
  }

  package mutating func note(_ bytes: Data) {
    bytes.withUnsafeBytes { bytes in
      var index = bytes.startIndex
      while let next = bytes[index...].firstIndex(where: { $0 == UInt8(ascii: "t") || $0 == UInt8(ascii: "-") }) {
        index = next + 1
        let rest = bytes[next...]
        if bytes[next] == UInt8(ascii: "-") {
          let digits = rest.dropFirst().prefix(17).prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
          let number = Int64("-" + String(decoding: digits, as: UTF8.self))
          if let number, TemporaryID.isTemporary(number) { numbers.insert(number) }
        } else if rest.starts(with: TemporaryID.prefix.utf8) {
          strings.insert(String(decoding: rest.prefix(TemporaryID.length), as: UTF8.self))
        }
      }
    }
  }
}
