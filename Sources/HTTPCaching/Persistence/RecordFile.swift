import Foundation

/// A record's file, open, with its head read and checked.
struct RecordFile: ~Copyable {
  let head: Record.Head
  let status: FileStatus
  private let file: OpenFile
  private let layout: RecordCodec.Layout
  /// The file's beginning: the head at least.
  private let bytes: [UInt8]

  /// - Parameter count: how many bytes to read at once: more than the head saves reading again for the body.
  /// - Throws: ``RecordError``, ``FilePersistenceError``.
  init(_ file: consuming OpenFile, reading count: Int) throws {
    let status = try file.status()
    guard status.isRegular else { throw RecordError.corrupt("it is not a regular file") }
    var bytes = try file.read(min(count, status.size))
    let layout = try RecordCodec.layout(of: bytes, count: status.size)
    if bytes.count < layout.bodyOffset { bytes += try file.read(layout.bodyOffset - bytes.count) }
    head = try RecordCodec.decodeHead(bytes, layout)
    self.status = status
    self.layout = layout
    self.bytes = bytes
    self.file = file
  }

  func record() throws -> Record {
    let read = bytes[layout.bodyOffset...]
    let body = read.count == layout.bodyLength ? Data(read) : try body(after: read)
    try RecordCodec.check(body: body, layout)
    return Record(head: head, body: body)
  }

  private func body(after read: ArraySlice<UInt8>) throws -> Data {
    var body = Data(count: layout.bodyLength)
    let count = try body.withUnsafeMutableBytes { buffer in
      buffer.copyBytes(from: read)
      return try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[read.count...]))
    }
    guard read.count + count == layout.bodyLength else { throw RecordError.truncated }
    return body
  }

  /// Notes that it was used now, unless that was noted within `interval` seconds. A failure costs only the order of
  /// eviction, so it is not thrown.
  func touch(unlessWithin interval: Int) {
    let now = FileTime.now
    let age = now.seconds - status.modified.seconds
    // A time in the future is a clock that was set back.
    if age >= interval || age < 0 { try? file.touch(now) }
  }
}
