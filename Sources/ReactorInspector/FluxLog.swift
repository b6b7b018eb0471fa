/// What passed a dispatcher: actions, and the changes of stores after the action that led to them. Names and types, no values.
struct FluxLog: Sendable {
  struct Entry: Sendable, Hashable, Encodable {
    enum Kind: String, Sendable, Encodable { case action, change }
    var number: UInt64 = 0
    /// Milliseconds since 1970.
    let at: Double
    let kind: Kind
    /// Of the event, or the store.
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
