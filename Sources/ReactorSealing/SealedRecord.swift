#if Sealing
  import Foundation
  import HTTPCaching

  /// A record as it is stored: sealed, in a record of which every part is the same but the body and
  /// one field.
  ///
  /// The field is `Cache-Groups`, since each store lists it without reading bodies. It has two
  /// strings in Base64: the sealed ``Summary``, and the sealed name of the scope. The body is the
  /// sealed ``Record/encoded()``; its place includes the field, so one is never of another time
  /// than the other.
  struct SealedRecord {
    /// The stored record.
    let stored: Record
    /// The sealed summary.
    let summary: Data

    init(_ stored: Record, _ what: @autoclosure () -> String) throws(SealingError) {
      guard let boxes = Boxes(stored.head.groups) else { throw .notSealed(what()) }
      self.stored = stored
      summary = boxes.summary
    }

    /// Seals a record with the current key of its scope.
    init(_ record: Record, for key: RecordKey, as name: RecordKey, with keys: ScopeKeys) throws {
      let identity = Array(name.identity.utf8)
      summary = try SealFormat.seal(Summary(record.head).encoded, .summary, at: [identity], with: keys.current)
      let field = "\"\(summary.base64EncodedString())\", \"\(keys.label)\""
      var content = Data(RecordCodec.encodeHead(of: record))
      content.append(record.body)
      let body = try SealFormat.seal(
        content, .record, at: [identity, Array(field.utf8)], with: keys.current)
      // The times of a record are in its content.
      let time = Date(timeIntervalSinceReferenceDate: 0)
      stored = Record(
        head: Record.Head(
          identity: name.identity, status: .ok, fields: [CacheGroups.members: field], requestedAt: time,
          receivedAt: time),
        body: body)
    }

    /// The id of the key that has sealed the record.
    func keyID(_ what: @autoclosure () -> String) throws(SealingError) -> SealingKey.ID {
      try SealFormat.keyID(of: stored.body, .record, what())
    }

    /// Opens the record of `key`.
    func record(of key: RecordKey, as name: RecordKey, with sealing: Sealing) throws -> Record {
      let what = "the record of \(key)"
      let field = stored.head.fields[CacheGroups.members] ?? ""
      let content = try SealFormat.open(
        stored.body, .record, at: [Array(name.identity.utf8), Array(field.utf8)], what
      ) { try sealing.key($0, of: key.scope) }
      let layout = try RecordCodec.layout(of: [UInt8](content.prefix(RecordCodec.prefixLength)), count: content.count)
      let head = try RecordCodec.decodeHead([UInt8](content.prefix(layout.bodyOffset)), layout)
      let record = Record(head: head, body: Data(content.dropFirst(layout.bodyOffset)))
      guard record.belongs(to: key) else { throw SealingError.altered(what) }
      return record
    }
  }

  extension SealedRecord {
    /// The sealed parts that a store lists.
    struct Boxes {
      let summary: Data
      let label: Data

      /// - Parameter groups: The groups of a stored record.
      init?(_ groups: Set<String>) {
        let boxes = groups.compactMap { Data(base64Encoded: $0) }
        func box(_ kind: SealFormat.Kind) -> Data? {
          boxes.first { $0.count >= SealFormat.overhead && $0[5] == kind.rawValue }
        }
        guard let summary = box(.summary), let label = box(.label) else { return nil }
        (self.summary, self.label) = (summary, label)
      }
    }

    /// The parts of a record that a listing needs.
    struct Summary {
      var identity: String
      var fetchedAt: Date
      var freshUntil: Date?
      var groups: Set<String>

      init(_ head: Record.Head) {
        identity = head.identity
        fetchedAt = head.receivedAt
        freshUntil = head.freshUntil
        groups = head.groups
      }

      var encoded: [UInt8] {
        var writer = RecordWriter(capacity: 256)
        writer.write(identity)
        writer.write(fetchedAt)
        writer.write(freshUntil) { $0.write($1) }
        writer.write(count: groups.count)
        for group in groups.sorted() { writer.write(group) }
        return writer.bytes
      }

      init(encoded: [UInt8]) throws(Record.Failure) {
        var reader = RecordReader(encoded, encoded.indices)
        identity = try reader.string()
        fetchedAt = try reader.date()
        freshUntil = try reader.optional { reader throws(Record.Failure) in try reader.date() }
        groups = []
        for _ in 0..<(try reader.count()) { groups.insert(try reader.string()) }
      }
    }
  }
#endif
