import Foundation
import ReactorCore

@testable import ReactorOutbox

extension OutboxEntry {
  /// An entry with this number. Its identity has the number as well.
  static func numbered(
    _ number: UInt64, lane: String = "main", _ arguments: String = "{}", state: State = .waiting
  ) -> OutboxEntry {
    var entry = OutboxEntry(
      id: .numbered(number), lane: lane, name: "Add", version: 1, arguments: Data(arguments.utf8),
      submittedAt: OutcomePage.now, idempotencyWindow: 86_400)
    entry.number = number
    entry.state = state
    return entry
  }

  func with(_ change: (inout OutboxEntry) -> Void) -> OutboxEntry {
    var entry = self
    change(&entry)
    return entry
  }
}

extension UUID {
  static func numbered(_ number: UInt64) -> UUID {
    let digits = String(number, radix: 16)
    let padded = String(repeating: "0", count: 12 - digits.count) + digits
    return UUID(uuidString: "00000000-0000-0000-0000-\(padded)") ?? UUID()
  }

  /// The number of ``numbered(_:)``.
  var number: UInt64 { UInt64(uuidString.suffix(12), radix: 16) ?? 0 }
}

extension OutboxQueue {
  init(_ entries: OutboxEntry...) {
    self.init()
    for entry in entries { put(entry) }
  }

  /// The turn of a lane, in words: `send 1`, `wait`, `wait 5`, `busy` or `empty`.
  func turn(_ lane: String = "main", isReachable: Bool = true, after seconds: Double = 0) -> String {
    switch turn(of: lane, Conditions(now: OutcomePage.now + seconds, isReachable: isReachable)) {
    case .send(let id): "send \(id.number)"
    case .wait(let date?): "wait \(Int(date.timeIntervalSince(OutcomePage.now)))"
    case .wait(nil): "wait"
    case .busy: "busy"
    case .empty: "empty"
    }
  }

  func reason(_ number: UInt64, isReachable: Bool = true, after seconds: Double = 0) -> Outbox.Entry.Reason? {
    entries[.numbered(number)].flatMap { entry in
      reason(of: entry, Conditions(now: OutcomePage.now + seconds, isReachable: isReachable))
    }
  }

  /// The numbers of the entries in a lane.
  func numbers(in lane: String = "main") -> [UInt64] { entries(in: lane).map(\.number) }
}
