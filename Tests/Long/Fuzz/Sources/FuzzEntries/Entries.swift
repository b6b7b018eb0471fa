import Foundation
import FuzzSupport
import ReactorCore

@testable import HTTPCaching
@testable import ReactorOutbox

/// An outbox's entry and journal are read as they were written, or not at all. The first byte says
/// what the rest is.
@c(LLVMFuzzerTestOneInput) public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = Input(start, count).bytes
  guard let first = bytes.first else { return 0 }
  let rest = Array(bytes.dropFirst())
  switch first {
  case UInt8(ascii: "e"): checkEntry(rest)
  case UInt8(ascii: "m"): checkEntry(sealed(members: rest))
  case UInt8(ascii: "j"): _ = try? JournalScan(rest, of: .shared)
  case UInt8(ascii: "f"): checkFrame(rest)
  case UInt8(ascii: "d"): checkDamage(rest)
  case UInt8(ascii: "t"): checkTorn(rest)
  default: return -1
  }
  return 0
}

/// Checks that an entry that is read from any bytes is read again after it is written. A secret is
/// not written.
private func checkEntry(_ bytes: [UInt8]) {
  let entry: OutboxEntry
  do throws(Record.Failure) { entry = try OutboxEntry.decode(bytes) } catch {
    check(error != .wrongKey, "a key without a key")
    return
  }
  let encoded: Data
  do throws(OutboxEntryError) { encoded = try entry.encoded() } catch {
    if case .secret = error { return }
    violated("not written again: \(error)")
  }
  let stored = StoredEntry(id: entry.id, lane: entry.lane, bytes: encoded)
  check(succeed("not read again") { try OutboxEntry(decoding: stored) } == entry, "another entry")
}

/// Members with the right checksum, so that their decoder meets the bytes.
private func sealed(members: [UInt8]) -> [UInt8] {
  let plain = OutboxEntry(
    id: UUID(), lane: "", name: "", version: 1, arguments: Data(), submittedAt: .distantPast, idempotencyWindow: 0)
  let prefix = [UInt8](succeed("a plain entry") { try plain.encoded() }.prefix(24))
  var length = RecordWriter()
  length.write(UInt64(members.count))
  let bytes = prefix + length.bytes + members
  var sum = RecordWriter()
  sum.write(OutboxEntry.checksum(bytes))
  return bytes[..<8] + sum.bytes + bytes[16...]
}

/// Steps with the right checksums, so that their decoder and the table meet the bytes.
private func checkFrame(_ steps: [UInt8]) {
  let header = Journal.header(generation: UUID(), scope: .shared)
  var frame = Journal.frame([], at: header.count, of: .shared)
  var words = RecordWriter()
  words.write(UInt64(steps.count))
  words.write(steps.withUnsafeBytes { XXHash64.hash($0) })
  frame.replaceSubrange(8..<24, with: words.bytes)
  var place = RecordWriter()
  place.write(UInt64(header.count))
  var seal = RecordWriter()
  let head = Journal.frameHead
  seal.write(XXHash64.hash(of: frame[..<(head - 8)] + place.bytes + Array(Scope.shared.name.utf8)))
  frame.replaceSubrange(head - 8..<head, with: seal.bytes)
  frame.insert(contentsOf: steps, at: head)
  let scan = succeed("a newer format") { try JournalScan(header + frame, of: .shared) }
  check(!scan.isTorn, "a whole frame is torn")
  // All or nothing of it, and what was read is read again.
  let again = Journal.frame(scan.table.allSteps, at: header.count, of: .shared)
  let second = succeed("a newer format") { try JournalScan(header + again, of: .shared) }
  check(second.damage.isEmpty && second.table == scan.table, "another table")
}

extension XXHash64 {
  fileprivate static func hash(of bytes: [UInt8]) -> UInt64 { bytes.withUnsafeBytes { hash($0) } }
}

/// A journal with a commit of one entry for each line, and the offset after each.
private func journal(of bytes: [UInt8]) -> (bytes: [UInt8], ends: [Int], texts: [Data]) {
  var journal = Journal.header(generation: UUID(), scope: .shared)
  var (ends, texts) = ([journal.count], [Data]())
  for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
    texts.append(Data(line))
    let entry = StoredEntry(id: UUID(), number: UInt64(texts.count), lane: "main", bytes: Data(line))
    journal += Journal.frame([.put(entry)], at: journal.count, of: .shared)
    ends.append(journal.count)
  }
  return (journal, ends, texts)
}

private func texts(_ scan: JournalScan) -> [Data] { scan.table.contents.entries.map(\.bytes) }

/// Four bytes say what happens to the journal of the others, and where. An entry is read as it was,
/// or is out; nothing is out without a word.
private func checkDamage(_ bytes: [UInt8]) {
  guard bytes.count >= 5 else { return }
  let (whole, ends, all) = journal(of: Array(bytes[4...]))
  check(texts(succeed("not read") { try JournalScan(whole, of: .shared) }) == all, "another journal")
  let place = (Int(bytes[1]) << 8 | Int(bytes[2])) % whole.count
  var damaged = whole
  switch bytes[0] % 4 {
  case 0: damaged[place] ^= bytes[3]
  case 1: damaged.removeSubrange(place..<min(damaged.count, place + Int(bytes[3])))
  case 2: damaged.insert(contentsOf: bytes[4...].prefix(Int(bytes[3])), at: place)
  default: damaged.swapAt(place, Int(bytes[3]) % whole.count)
  }
  guard damaged != whole, let scan = try? JournalScan(damaged, of: .shared) else { return }
  var rest = all[...]
  for text in texts(scan) {
    guard let index = rest.firstIndex(of: text) else { violated("an entry that nobody wrote, or in another order") }
    rest = rest[(index + 1)...]
  }
  // An end that is cut off between two frames, or in one, looks as if nothing had followed.
  let isCut = whole.starts(with: damaged) || (scan.isTorn && damaged.count < whole.count)
  if texts(scan) != all, !isCut, !scan.isTorn { check(!scan.damage.isEmpty, "lost without a word; \(ends)") }
}

/// Two bytes say where the journal of the others is cut off. The frames before are read.
private func checkTorn(_ bytes: [UInt8]) {
  guard bytes.count >= 2 else { return }
  let (whole, ends, all) = journal(of: Array(bytes[2...]))
  let length = max(ends[0], (Int(bytes[0]) << 8 | Int(bytes[1])) % whole.count)
  let scan = succeed("a newer format") { try JournalScan(Array(whole[..<length]), of: .shared) }
  check(texts(scan) == Array(all.prefix(ends.count { $0 <= length } - 1)), "not the frames before")
  check(scan.damage.isEmpty && scan.isTorn == !ends.contains(length), "cut off at \(length) of \(ends)")
  // The scan continues where another process has appended.
  var rest = scan
  rest.read(next: Array(whole[scan.end...]))
  check(texts(rest) == all && rest.damage.isEmpty && !rest.isTorn, "not read on")
}
