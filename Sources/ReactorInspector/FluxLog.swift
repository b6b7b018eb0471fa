import ReactorFlux

/// The latest actions of a dispatcher, the fields that they changed, and the store changes that
/// followed them. It holds names and types, and values only of the fields that were named.
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
    /// The fields that the handlers have changed.
    var fields: [Field] = []
    /// A Boolean value that indicates whether more fields have changed.
    var isCut = false
  }

  /// A field of a store's state that an action has changed.
  struct Field: Sendable, Hashable, Encodable {
    let store: String
    let path: String
    let kind: ActionDifference.Field.Kind
    /// The values; `nil` where there is none, or where it is not shown.
    let before: String?
    let after: String?

    init(_ field: ActionDifference.Field) {
      (store, path, kind) = (field.store, field.path, field.kind)
      (before, after) = (field.before, field.after)
    }
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
