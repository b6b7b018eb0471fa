import Foundation
import HTTPCaching

/// The content of a journal, read frame by frame.
///
/// A damaged end counts as an unfinished commit if it looks like one: it is cut off, or a sector of
/// the disk is empty. Any other damage is reported, and every readable frame is applied, including
/// frames behind the damage.
struct JournalScan {
  let scope: Scope
  private(set) var table = OutboxTable()
  /// `nil` if the header is damaged.
  private(set) var generation: UUID?
  /// The offset after the last valid frame.
  private(set) var end = 0
  /// A Boolean value that indicates whether an unfinished commit follows.
  private(set) var isTorn = false
  /// The ranges of bytes that are damaged.
  private(set) var damage: [Range<Int>] = []

  /// Reads a whole journal.
  ///
  /// - Throws: ``NewerFormat``.
  init(_ bytes: [UInt8], of scope: Scope) throws(NewerFormat) {
    self.scope = scope
    switch Journal.readHeader(bytes, of: scope) {
    case .newerFormat: throw NewerFormat()
    case .valid(let generation, let end):
      self.generation = generation
      self.end = end
    case .damaged:
      end = Self.nextFrame(bytes, from: 0, base: 0, scope) ?? bytes.count
      damage.append(0..<end)
    }
    read(bytes, from: end, base: 0)
  }

  struct NewerFormat: Error {}

  /// The journal that was written with a table.
  init(_ table: OutboxTable, of scope: Scope, generation: UUID, end: Int) {
    self.table = table
    self.scope = scope
    self.generation = generation
    self.end = end
  }

  /// Continues with a frame that was appended.
  mutating func append(_ steps: [OutboxTable.Step], count: Int) {
    for step in steps { table.apply(step) }
    end += count
  }

  /// Continues after the unfinished commit was cut off.
  mutating func cutOff() { isTorn = false }

  /// Continues with the bytes after ``end``.
  mutating func read(next bytes: [UInt8]) { read(bytes, from: 0, base: end) }

  private mutating func read(_ bytes: [UInt8], from start: Int, base: Int) {
    var index = start
    isTorn = false
    while index < bytes.count {
      if let frame = Journal.readFrame(bytes, at: index, base: base, of: scope) {
        for step in frame.steps { table.apply(step) }
        index = frame.end
        end = base + index
      } else if let next = Self.nextFrame(bytes, from: index + 1, base: base, scope) {
        damage.append(base + index..<base + next)
        index = next
      } else {
        isTorn = Journal.isUnfinished(bytes, at: index, base: base, of: scope)
        if !isTorn { damage.append(base + index..<base + bytes.count) }
        return
      }
    }
  }

  private static func nextFrame(_ bytes: [UInt8], from start: Int, base: Int, _ scope: Scope) -> Int? {
    var index = start
    while index + Journal.frameHead <= bytes.count {
      guard let next = bytes[index...].firstIndex(of: Journal.frameStart[0]) else { return nil }
      if bytes[next...].starts(with: Journal.frameStart),
        Journal.readFrame(bytes, at: next, base: base, of: scope) != nil
      {
        return next
      }
      index = next + 1
    }
    return nil
  }
}
