import Foundation
import FuzzSupport
import HTTPTypes

@testable import HTTPCaching

/// A record is read as it was written, or not at all. The first byte says what the rest is.
@c(LLVMFuzzerTestOneInput) public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = Input(start, count).bytes
  guard let first = bytes.first else { return 0 }
  let rest = Array(bytes.dropFirst())
  switch first {
  case UInt8(ascii: "r"): checkDecoding(rest)
  case UInt8(ascii: "h"): checkDecoding(sealed(head: rest))
  case UInt8(ascii: "d"): checkDamage(rest)
  case UInt8(ascii: "k"): checkKey(String(decoding: rest, as: UTF8.self))
  default: return -1
  }
  return 0
}

private func encode(_ record: Record) -> [UInt8] { RecordCodec.encodeHead(of: record) + record.body }

/// Checks that a record that is read from any bytes is read again after it is written. They are
/// compared as bytes, since a date may be no number.
private func checkDecoding(_ bytes: [UInt8]) {
  let record: Record
  do throws(Record.Failure) { record = try RecordCodec.decode(bytes) } catch {
    check(error != .wrongKey, "a key without a key")
    return
  }
  let encoded = encode(record)
  check(encode(succeed("not read again") { try RecordCodec.decode(encoded) }) == encoded, "another record")
}

/// A head with right checksums, so that its decoder meets the bytes.
private func sealed(head: [UInt8]) -> [UInt8] {
  let empty = RecordCodec.encodeHead(
    of: Record(
      head: Record.Head(
        identity: "", status: .ok, fields: [:], requestedAt: .distantPast, receivedAt: .distantPast), body: Data()))
  var content = RecordWriter()
  for word in [RecordCodec.formatVersion, UInt64(head.count), 0] { content.write(word) }
  let covered = content.bytes + empty[40..<48] + head
  var checksum = RecordWriter()
  checksum.write(covered.withUnsafeBytes { XXHash64.hash($0) })
  return empty[..<8] + checksum.bytes + covered
}

/// Three bytes say what happens to the record that is made of the others, and where.
private func checkDamage(_ bytes: [UInt8]) {
  guard bytes.count >= 4 else { return }
  let (kind, content) = (bytes[0], Array(bytes[4...]))
  let record = record(of: content)
  let whole = encode(record)
  check(encode(succeed("not read") { try RecordCodec.decode(whole) }) == whole, "another record")
  let place = (Int(bytes[1]) << 8 | Int(bytes[2])) % whole.count
  var damaged = whole
  switch kind % 5 {
  case 0: damaged[place] ^= bytes[3]
  case 1: damaged.removeSubrange(place..<min(damaged.count, place + Int(bytes[3])))
  case 2: damaged.insert(contentsOf: content.prefix(Int(bytes[3])), at: place)
  case 3: damaged.replaceSubrange(place..., with: [UInt8](repeating: 0, count: whole.count - place))
  default: damaged.swapAt(place, Int(bytes[3]) % whole.count)
  }
  if damaged != whole, let other = try? RecordCodec.decode(damaged) { violated("\(other) after \(record)") }
}

/// Lines: the identity, fields, and behind an empty line the body.
private func record(of bytes: [UInt8]) -> Record {
  let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
  let head = lines.prefix { !$0.isEmpty }
  var fields: HTTPFields = [:]
  for line in head.dropFirst() {
    let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1)
    guard let first = parts.first, let name = HTTPField.Name(String(decoding: first, as: UTF8.self)) else { continue }
    fields.append(HTTPField(name: name, lenientValue: parts.count > 1 ? Array(parts[1]) : []))
  }
  let identity = String(decoding: head.first ?? [], as: UTF8.self)
  let times = (Double(bytes.count), Double(fields.count) / 3)
  return Record(
    head: Record.Head(
      identity: identity, status: .init(code: 200 + bytes.count % 300, reasonPhrase: identity), fields: fields,
      requestedAt: Date(timeIntervalSinceReferenceDate: times.0),
      receivedAt: Date(timeIntervalSinceReferenceDate: times.1),
      invalidatedAt: bytes.count % 2 == 0 ? nil : .distantFuture, localModel: bytes.count % 3 == 0 ? identity : nil,
      variant: Record.Variant(response: fields, request: fields)),
    body: Data(lines.dropFirst(head.count + 1).joined(separator: [UInt8(ascii: "\n")])))
}

/// A text is the identity of one key, which spells it the same, or of none.
private func checkKey(_ text: String) {
  guard let key = RecordKey(identity: text) else { return }
  check(key.identity.utf8.elementsEqual(text.utf8), "spelled \(key.identity)")
  check(RecordKey(identity: key.identity) == key, "two keys of one identity")
  check(key.variant("00").base == key, "another base")
}
