/// The latest actions of a dispatcher, and the store changes that followed them. It holds names and
/// types, but no values.
struct FluxLog: Sendable {
  struct Entry: Sendable, Hashable, Encodable {
    enum Kind: String, Sendable, Encodable { case action, change }
    var number: UInt64 = 0
    /// Milliseconds since 1970.
    let at: Double
    let kind: Kind
    /// The name of the event, or the type of the store.
    let name: String
    /// The type of the payload.
    var payload: String?
    /// The type of the error.
    var error: String?
  }

  static let entries = 500

  private(set) var ring = Ring<Entry>(capacity: Self.entries)
  private(set) var lastNumber: UInt64 = 0

  mutating func append(_ entry: Entry) {
    lastNumber += 1
    var entry = entry
    entry.number = lastNumber
    ring.append(entry)
  }

  func since(_ number: UInt64) -> [Entry] { ring.suffix(Self.entries) { $0.number > number } }
}
