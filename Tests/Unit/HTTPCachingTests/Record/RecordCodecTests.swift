import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import HTTPCaching

@Suite struct `Record codec` {
  /// Every member, some beyond ASCII.
  private var full: Record {
    var record = Record.sample(.sample(scope: "Zoë"), #"{"title": "日本"}"#)
    record.head.status = HTTPResponse.Status(code: 203, reasonPhrase: "Très bien")
    record.head.invalidatedAt = Date(timeIntervalSinceReferenceDate: 0.1)
    record.head.localModel = "Article"
    record.head.variant = Record.Variant(names: ["accept", "x"], digest: "ab")
    record.head.fields.append(HTTPField(name: .eTag, lenientValue: [0xFF, 0x80]))
    return record
  }

  private func encode(_ record: Record) -> [UInt8] { RecordCodec.encodeHead(of: record) + record.body }

  @Test func `a record comes back with every member`() throws {
    let record = full
    let decoded = try RecordCodec.decode(encode(record))
    #expect(decoded == record)
    #expect(decoded.head.status.reasonPhrase == "Très bien")
    #expect(decoded.head.fields.map(\.name.rawName) == record.head.fields.map(\.name.rawName))
    #expect(decoded.head.fields.last?.withUnsafeBytesOfValue { Array($0) } == [0xFF, 0x80])
  }

  @Test func `the format's bytes are pinned`() {
    let record = Record(
      head: Record.Head(
        identity: "id", status: .ok, fields: [.eTag: "\"1\""], requestedAt: Date(timeIntervalSinceReferenceDate: 1),
        receivedAt: Date(timeIntervalSinceReferenceDate: 2)),
      body: Data("hi".utf8))
    #expect(
      Hex.encode(encode(record)) == """
        895852544352440a\
        d0e1229a222139c1\
        0100000000000000\
        2500000000000000\
        0200000000000000\
        fa3826eae94288ea\
        026964c801024f4b\
        000000000000f03f0000000000000040\
        000000010445546167032231226869
        """)
  }

  @Test func `every date keeps its bits`() throws {
    for bits in [0, 1, Double.pi.bitPattern, (-0.0).bitPattern, Double.infinity.bitPattern, Double.nan.bitPattern] {
      var record = full
      record.head.receivedAt = Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits))
      let decoded = try RecordCodec.decode(encode(record))
      #expect(decoded.head.receivedAt.timeIntervalSinceReferenceDate.bitPattern == bits)
    }
  }

  @Test(arguments: [" ", " a", "a ", "\ta", "a b"])
  func `the white space around a field's value is kept`(_ value: String) throws {
    var record = full
    record.head.fields.append(HTTPField(name: .location, lenientValue: Array(value.utf8)))
    let decoded = try RecordCodec.decode(encode(record))
    #expect(decoded.head.fields.last?.withUnsafeBytesOfValue { Array($0) } == Array(value.utf8))
  }

  @Test func `the head is read without the body`() throws {
    let record = full
    let bytes = encode(record)
    let head = RecordCodec.encodeHead(of: record)
    let layout = try RecordCodec.layout(of: head, count: bytes.count)
    #expect(try RecordCodec.decodeHead(head, layout) == record.head)
  }

  @Test func `every flipped bit is seen`() {
    let bytes = encode(full)
    for index in bytes.indices {
      for bit in 0..<8 {
        var flipped = bytes
        flipped[index] ^= 1 << UInt8(bit)
        #expect(throws: Record.Failure.self, "byte \(index), bit \(bit)") { try RecordCodec.decode(flipped) }
      }
    }
  }

  @Test func `a record cut anywhere is truncated`() {
    let bytes = encode(full)
    for count in bytes.indices {
      #expect(throws: Record.Failure.truncated, "\(count) bytes") { try RecordCodec.decode(Array(bytes.prefix(count))) }
    }
  }

  @Test func `bytes after the record are seen`() {
    #expect(throws: Record.Failure.corrupt("1 bytes follow its end")) { try RecordCodec.decode(encode(full) + [0]) }
  }

  @Test func `a newer format is named, whatever follows`() {
    var bytes = Array(encode(full).prefix(24))
    bytes[16] = 2
    #expect(throws: Record.Failure.newerFormat(2)) { try RecordCodec.decode(bytes) }
    #expect(throws: Record.Failure.newerFormat(2)) { try RecordCodec.decode(bytes + [1, 2, 3]) }
  }

  @Test func `bytes that are not a record are an error that says so`() {
    for text in ["{\"json\": true}", String(repeating: "\0", count: 100)] {
      #expect(throws: Record.Failure.corrupt("it does not start like a record")) {
        try RecordCodec.decode(Array(text.utf8))
      }
    }
  }

  /// The checksums are made right, so that the decoder itself meets the bad bytes.
  @Test func `a head of random bytes never traps`() {
    var generator = SeededGenerator(seed: 2)
    let head = Array(RecordCodec.encodeHead(of: full).dropFirst(RecordCodec.prefixLength))
    for _ in 0..<5_000 {
      var changed = head
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        changed[Int.random(in: changed.indices, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
      }
      if Bool.random(using: &generator) {
        changed = Array(changed.prefix(Int.random(in: 0...changed.count, using: &generator)))
      }
      var sealed = RecordWriter()
      for word in [1, UInt64(changed.count), 0, [UInt8]().withUnsafeBytes { XXHash64.hash($0) }] { sealed.write(word) }
      let content = sealed.bytes + changed
      var prefix = RecordWriter()
      prefix.write(content.withUnsafeBytes { XXHash64.hash($0) })
      let bytes = encode(full).prefix(8) + prefix.bytes + content
      do throws(Record.Failure) {
        _ = try RecordCodec.decode(Array(bytes))
      } catch {
        #expect(error != .wrongKey)
      }
    }
  }
}
