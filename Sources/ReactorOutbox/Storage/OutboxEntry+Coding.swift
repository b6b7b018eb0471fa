package import Foundation
import HTTPCaching

/// The format of an entry: a prefix of 32 bytes and the members.
///
/// The prefix has four words of eight bytes, little-endian:
///
/// 1. the magic number
/// 2. the checksum of everything after this word
/// 3. the number of the format
/// 4. the length of the members
///
/// The first three keep their place and meaning in every future format. So a damaged entry is never
/// mistaken for an entry of a newer release.
extension OutboxEntry {
  private static let magic = UInt64(littleEndian: 0x0A45_424F_5452_5889)  // 89 'X' 'R' 'T' 'O' 'B' 'E' 0A
  static let formatVersion: UInt64 = 5
  /// The oldest format that has all of the entry: the first has no ``awaited``, the second no
  /// ``draftStaysUntil``, the third no form, and the fourth no ``LastOutcome/refusal``.
  private var format: UInt64 {
    if outcome?.refusal != nil { return 5 }
    if request?.hasForm == true { return 4 }
    return draftStaysUntil != nil ? 3 : awaited.isEmpty ? 1 : 2
  }
  static let prefixLength = 32

  /// Returns the bytes of the entry, without its number.
  ///
  /// - Parameter secretNames: The names of secret query items. Default: those of HTTPCaching.
  /// - Throws: ``OutboxEntryError/secret(_:)``, ``OutboxEntryError/tooLarge(size:limit:)``.
  package func encoded(
    secretNames: Set<String> = SecretQuery.defaultNames
  ) throws(OutboxEntryError) -> Data {
    if let place = request?.secret(names: secretNames) { throw .secret(place) }
    // Before they are copied.
    let contents = arguments.count + (request?.body?.count ?? 0)
    guard contents <= StoredEntry.byteLimit else { throw .tooLarge(size: contents, limit: StoredEntry.byteLimit) }
    var writer = RecordWriter(capacity: contents + 512)
    for word in [Self.magic, 0, format, 0] { writer.write(word) }
    write(to: &writer)
    if format > 1 {
      writer.write(count: awaited.count)
      for temporary in awaited.sorted() { writer.write(temporary) }
    }
    if format > 3 {
      writer.write(draftStaysUntil) { $0.write($1) }
    } else if let draftStaysUntil {
      writer.write(draftStaysUntil)
    }
    if format > 4, let refusal = outcome?.refusal {
      writer.write(count: request?.hasForm == true ? 1 : 0)
      refusal.write(to: &writer)
    }
    let size = writer.bytes.count
    guard size <= StoredEntry.byteLimit else { throw .tooLarge(size: size, limit: StoredEntry.byteLimit) }
    writer.write(UInt64(size - Self.prefixLength), at: 3 * 8)
    writer.write(Self.checksum(writer.bytes), at: 8)
    return Data(writer.bytes)
  }

  /// Reads an entry as a store returned it.
  ///
  /// - Throws: ``OutboxEntryError``, also if the bytes belong to another entry or lane.
  package init(decoding stored: StoredEntry) throws(OutboxEntryError) {
    let bytes = stored.bytes.withUnsafeBytes { [UInt8]($0) }
    var entry: OutboxEntry
    do throws(Record.Failure) {
      entry = try Self.decode(bytes)
    } catch {
      throw OutboxEntryError(error)
    }
    guard entry.id == stored.id else { throw .corrupt("its id belongs to another entry") }
    guard entry.lane == stored.lane else { throw .corrupt("it belongs to another lane") }
    entry.number = stored.number
    self = entry
  }

  static func checksum(_ bytes: [UInt8]) -> UInt64 {
    bytes.withUnsafeBytes { XXHash64.hash(UnsafeRawBufferPointer(rebasing: $0[16...])) }
  }

  static func decode(_ bytes: [UInt8]) throws(Record.Failure) -> OutboxEntry {
    guard bytes.count >= prefixLength else { throw .truncated }
    var reader = RecordReader(bytes, bytes.indices)
    guard try reader.word() == magic else { throw .corrupt("it does not start like an entry") }
    let sum = try reader.word()
    let format = try reader.word()
    let length = try reader.word()
    let isKnown = (1...formatVersion).contains(format)
    if isKnown, length > UInt64(bytes.count - prefixLength) { throw .truncated }
    guard sum == checksum(bytes) else { throw .corrupt("the checksum is wrong") }
    guard format <= formatVersion else { throw .newerFormat(format) }
    guard isKnown else { throw .corrupt("the format \(format) is unknown") }
    guard length == UInt64(bytes.count - prefixLength) else { throw .corrupt("it has bytes after its end") }
    var entry = try OutboxEntry(&reader)
    if format > 1 {
      for _ in 0..<(try reader.count()) { entry.awaited.insert(try reader.string()) }
    }
    if format == 3 { entry.draftStaysUntil = try reader.knownDate() }
    if format > 3 {
      entry.draftStaysUntil = try reader.optional { reader throws(Record.Failure) in try reader.knownDate() }
      let hasForm = format == 4 ? true : try reader.count(limit: 1) == 1
      if hasForm {
        guard entry.request != nil else { throw .corrupt("it has a form, and no request") }
        entry.request?.hasForm = true
      }
    }
    if format > 4 {
      guard entry.outcome != nil else { throw .corrupt("it has a refusal, and no outcome") }
      entry.outcome?.refusal = try LastOutcome.Refusal(&reader)
    }
    guard reader.isAtEnd else { throw .corrupt("it has bytes after its end") }
    return entry
  }
}

/// The members in the order of their declaration that every format has, without the number.
extension OutboxEntry {
  private func write(to writer: inout RecordWriter) {
    writer.write(id)
    writer.write(lane)
    writer.write(state.rawValue)
    writer.write(name)
    writer.write(integer: version)
    writer.write(arguments)
    writer.write(submittedAt)
    writer.write(integer: attempts)
    writer.write(integer: unsent)
    writer.write(count: isInDoubt ? 1 : 0)
    writer.write(firstAttemptAt) { $0.write($1) }
    writer.write(notBefore) { $0.write($1) }
    writer.write(idempotencyKey) { $0.write($1) }
    writer.write(idempotencyWindow.bitPattern)
    writer.write(request) { $1.write(to: &$0) }
    writer.write(outcome) { writer, outcome in
      writer.write(outcome.kind.rawValue)
      writer.write(outcome.status) { $0.write(integer: $1) }
      writer.write(outcome.reason)
      writer.write(outcome.date)
    }
    writer.write(integer: conflicts)
    writer.write(endedAt) { $0.write($1) }
  }

  private init(_ reader: inout RecordReader) throws(Record.Failure) {
    id = try reader.uuid()
    lane = try reader.string()
    let name = try reader.string()
    guard let state = State(rawValue: name) else { throw .corrupt("the state \(name) is unknown") }
    self.state = state
    self.name = try reader.string()
    version = try reader.integer()
    arguments = Data(try reader.content())
    submittedAt = try reader.knownDate()
    attempts = try reader.integer()
    unsent = try reader.integer()
    isInDoubt = try reader.count(limit: 1) == 1
    firstAttemptAt = try reader.optional { reader throws(Record.Failure) in try reader.knownDate() }
    notBefore = try reader.optional { reader throws(Record.Failure) in try reader.knownDate() }
    idempotencyKey = try reader.optional { reader throws(Record.Failure) in try reader.string() }
    idempotencyWindow = Double(bitPattern: try reader.word())
    guard !idempotencyWindow.isNaN else { throw .corrupt("its idempotency window is not a number") }
    request = try reader.optional { reader throws(Record.Failure) in try FrozenRequest(&reader) }
    outcome = try reader.optional { reader throws(Record.Failure) in
      let name = try reader.string()
      guard let kind = SendOutcome.Kind(rawValue: name) else { throw .corrupt("the outcome \(name) is unknown") }
      let status = try reader.optional { reader throws(Record.Failure) in try reader.integer() }
      return LastOutcome(kind, status: status, reason: try reader.string(), date: try reader.knownDate())
    }
    conflicts = try reader.integer()
    endedAt = try reader.optional { reader throws(Record.Failure) in try reader.knownDate() }
  }
}

extension LastOutcome.Refusal {
  fileprivate func write(to writer: inout RecordWriter) {
    writer.write(contentType) { $0.write($1) }
    writer.write(integer: size)
    writer.write(body) { $0.write($1) }
  }

  fileprivate init(_ reader: inout RecordReader) throws(Record.Failure) {
    contentType = try reader.optional { reader throws(Record.Failure) in try reader.string() }
    size = try reader.integer()
    body = try reader.optional { reader throws(Record.Failure) in Data(try reader.content()) }
  }
}

extension FrozenRequest {
  fileprivate func write(to writer: inout RecordWriter) {
    writer.write(method)
    writer.write(url)
    writer.write(count: fields.count)
    for field in fields {
      writer.write(field.name)
      writer.write(field.value)
    }
    writer.write(body) { $0.write($1) }
    writer.write(count: isKeyed ? 1 : 0)
  }

  fileprivate init(_ reader: inout RecordReader) throws(Record.Failure) {
    method = try reader.string()
    url = try reader.string()
    fields = []
    for _ in 0..<(try reader.count()) {
      fields.append(Field(name: try reader.string(), value: try reader.string()))
    }
    body = try reader.optional { reader throws(Record.Failure) in Data(try reader.content()) }
    isKeyed = try reader.count(limit: 1) == 1
  }
}

extension RecordWriter {
  /// Writes a number, which may be negative, as eight bytes.
  mutating func write(integer: Int) { write(UInt64(bitPattern: Int64(integer))) }

  mutating func write(_ id: UUID) { withUnsafeBytes(of: id.uuid) { write(Array($0)) } }
}

extension RecordReader {
  mutating func integer() throws(Record.Failure) -> Int {
    guard let integer = Int(exactly: Int64(bitPattern: try word())) else { throw .corrupt("a number is out of range") }
    return integer
  }

  mutating func uuid() throws(Record.Failure) -> UUID {
    let bytes = try content()
    guard bytes.count == 16 else { throw .corrupt("an id is not 16 bytes long") }
    return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  /// Reads a date that compares with others.
  mutating func knownDate() throws(Record.Failure) -> Date {
    let date = try date()
    guard !date.timeIntervalSinceReferenceDate.isNaN else { throw .corrupt("a date is not a number") }
    return date
  }
}

extension OutboxEntryError {
  init(_ error: Record.Failure) {
    switch error {
    case .truncated: self = .truncated
    case .newerFormat(let format): self = .newerFormat(format)
    case .corrupt(let reason): self = .corrupt(reason)
    case .wrongKey: self = .corrupt("it belongs to another key")
    }
  }
}
