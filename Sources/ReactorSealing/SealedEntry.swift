#if Sealing
  import Foundation
  import HTTPCaching
  import ReactorOutbox

  /// An entry of an outbox as it is stored: the temporary ids that it contains, a line break, and
  /// the sealed lane and bytes.
  ///
  /// The ids are random. The store beneath must see them, since it forgets ids that no entry
  /// contains. The lane of the stored entry is empty, unless its bytes exceed
  /// ``StoredEntry/byteLimit``: it then has the rest of them, in Base64.
  enum SealedEntry {
    private static let lineBreak = UInt8(ascii: "\n")

    /// Seals an entry with the current key of its scope.
    ///
    /// - Throws: `OutboxStorageError.tooLarge`.
    static func seal(_ entry: StoredEntry, with keys: ScopeKeys) throws -> StoredEntry {
      try entry.checkSize()
      var held = HeldIDs()
      held.note(entry.bytes)
      let ids = Array(held.texts.joined(separator: " ").utf8)
      var writer = RecordWriter(capacity: entry.bytes.count + entry.lane.utf8.count + 16)
      writer.write(entry.lane)
      writer.write(entry.bytes)
      let sealed = try SealFormat.seal(
        writer.bytes, .entry, at: place(entry.id, ids, in: keys.name), with: keys.current)
      let bytes = Data(ids) + [lineBreak] + sealed
      return StoredEntry(
        id: entry.id, number: entry.number, lane: bytes.dropFirst(StoredEntry.byteLimit).base64EncodedString(),
        bytes: Data(bytes.prefix(StoredEntry.byteLimit)))
    }

    /// Opens an entry.
    static func open(_ stored: StoredEntry, of scope: Scope, as name: Scope, with sealing: Sealing) throws
      -> StoredEntry
    {
      let what = "the entry \(stored.id)"
      let (ids, sealed) = try parts(of: stored, what)
      let content = [UInt8](
        try SealFormat.open(sealed, .entry, at: place(stored.id, ids, in: name), what) {
          try sealing.key($0, of: scope)
        })
      var reader = RecordReader(content, content.indices)
      return StoredEntry(
        id: stored.id, number: stored.number, lane: try reader.string(), bytes: Data(try reader.content()))
    }

    /// The id of the key that has sealed an entry.
    static func keyID(of stored: StoredEntry) throws -> SealingKey.ID {
      let what = "the entry \(stored.id)"
      return try SealFormat.keyID(of: try parts(of: stored, what).sealed, .entry, what)
    }

    private static func parts(of stored: StoredEntry, _ what: String) throws -> (ids: [UInt8], sealed: Data) {
      guard let end = stored.bytes.firstIndex(of: lineBreak), let rest = Data(base64Encoded: stored.lane) else {
        throw SealingError.notSealed(what)
      }
      return (Array(stored.bytes[..<end]), Data(stored.bytes[(end + 1)...]) + rest)
    }

    private static func place(_ id: UUID, _ ids: [UInt8], in name: Scope) -> [[UInt8]] {
      [Array(name.name.utf8), withUnsafeBytes(of: id.uuid) { Array($0) }, ids]
    }

    /// Seals the JSON of an id from a server, as a string of JSON.
    static func sealID(_ json: Data, of temporary: String, with keys: ScopeKeys) throws -> Data {
      let sealed = try SealFormat.seal(json, .identity, at: place(temporary, in: keys.name), with: keys.current)
      return Data("\"\(sealed.base64EncodedString())\"".utf8)
    }

    /// Opens the JSON of an id from a server.
    static func openID(
      _ stored: Data, of temporary: String, in scope: Scope, as name: Scope, with sealing: Sealing
    ) throws -> Data {
      let what = "the id \(temporary)"
      return try SealFormat.open(try box(stored, what), .identity, at: place(temporary, in: name), what) {
        try sealing.key($0, of: scope)
      }
    }

    /// The id of the key that has sealed an id from a server.
    static func keyID(of stored: Data, _ temporary: String) throws -> SealingKey.ID {
      let what = "the id \(temporary)"
      return try SealFormat.keyID(of: try box(stored, what), .identity, what)
    }

    private static func box(_ stored: Data, _ what: String) throws -> Data {
      guard let box = Data(base64Encoded: Data(stored.dropFirst().dropLast())) else {
        throw SealingError.notSealed(what)
      }
      return box
    }

    private static func place(_ temporary: String, in name: Scope) -> [[UInt8]] {
      [Array(name.name.utf8), Array(temporary.utf8)]
    }
  }
#endif
