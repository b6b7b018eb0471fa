import Foundation
import ReactorFleet
import Synchronization

/// Leases, and the messages of a fleet.
extension FleetStoreConformance {
  static let leases = [
    Check("one of many gets the lease") { subject in
      let beginnings = try await withThrowingTaskGroup(of: FleetLeaseAnswer.self) { group in
        for _ in 0..<20 { group.addTask { try await subject.begin() } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      let granted = beginnings.filter { if case .granted = $0 { true } else { false } }
      let held = beginnings.filter { if case .held = $0 { true } else { false } }
      subject.expect(granted.count == 1 && held.count == 19, "\(granted.count) got it, and \(held.count) wait")
    },
    Check("a server that waits is told how long") { subject in
      _ = try await subject.ticket(lease: .seconds(60))
      guard case .held(let time, _) = try await subject.begin() else { return subject.expect(false, "granted twice") }
      subject.expect(time > .seconds(50) && time <= .seconds(60), "the lease of a minute ends in \(time)")
    },
    Check("a ticket without a lease is drawn while another server has the lease, and blocks no server") { subject in
      let other = FleetRecordID(url: subject.record.url, name: "01")
      let lease = try await subject.ticket()
      guard case .pass(let ticket, _) = try await subject.begin(nil, .ticket) else {
        return subject.expect(false, "a ticket was not drawn")
      }
      subject.expect(ticket.version > lease.version, "it is not above the earlier one")
      guard case .pass = try await subject.begin(other, .ticket), case .granted = try await subject.begin(other) else {
        return subject.expect(false, "a ticket without a lease holds others up")
      }
    },
    Check("a lease that is over goes to the next, and its ticket is still good") { subject in
      let first = try await subject.ticket(lease: .milliseconds(5))
      try await subject.wait(for: "the end of the lease") {
        if case .granted = try await subject.begin() { true } else { false }
      }
      subject.expect(try await subject.commit(first), .kept)
    },
    Check("a lease is extended as long as its ticket has it") { subject in
      let first = try await subject.ticket(lease: .milliseconds(200))
      if try await subject.store.renew(first, lease: .seconds(60)) {
        guard case .held(let time, _) = try await subject.begin() else { return subject.expect(false, "it has ended") }
        subject.expect(time > .seconds(50), "an extended lease ends in \(time)")
      }
      try await subject.store.release(first, .abandoned)
      subject.expect(try await !subject.store.renew(first, lease: .seconds(60)), "a lease was extended after its end")
    },
    Check("a commit ends the lease, but not another server's lease") { subject in
      let ticket = try await subject.ticket()
      subject.expect(try await subject.commit(ticket), .kept)
      guard case .granted(_, let versions) = try await subject.begin() else {
        return subject.expect(false, "the lease is held after the commit")
      }
      subject.expect(versions.body == ticket.version, "begin tells the versions \(versions)")
    },
    Check("a lease that is given back goes to the next") { subject in
      let ticket = try await subject.ticket()
      try await subject.store.release(ticket, .abandoned)
      guard case .granted(let next, _) = try await subject.begin() else { return subject.expect(false, "it is held") }
      // It is another's now.
      try await subject.store.release(ticket, .abandoned)
      guard case .held = try await subject.begin() else { return subject.expect(false, "\(next) has lost it") }
    },
    Check("after a failure servers hold back for a while, except for a forced request") { subject in
      try await subject.store.release(try await subject.ticket(), .failed(.seconds(60)))
      guard case .failed(let time, _) = try await subject.begin() else { return subject.expect(false, "one asks") }
      subject.expect(time > .seconds(50) && time <= .seconds(60), "a failure of a minute ends in \(time)")
      let ticket = try await subject.ticket(nil, .ticket)
      subject.expect(try await subject.commit(ticket), .kept)
      guard case .granted = try await subject.begin() else {
        return subject.expect(false, "a response does not end the failure")
      }
    },
    Check("a failure ends by itself") { subject in
      try await subject.store.release(try await subject.ticket(), .failed(.milliseconds(5)))
      try await subject.wait(for: "the end of the failure") {
        if case .granted = try await subject.begin() { true } else { false }
      }
    },
    Check("while responses cannot be stored, no server waits for one") { subject in
      try await subject.store.release(try await subject.ticket(), .pass(.seconds(60)))
      for _ in 0..<3 {
        guard case .pass = try await subject.begin() else { return subject.expect(false, "one waits for another") }
      }
      subject.expect(try await subject.commit(try await subject.ticket()), .kept)
      guard case .granted = try await subject.begin() else { return subject.expect(false, "the pass does not end") }
    },
  ]

  static let messages = [
    Check("followers get messages about fences, stored bodies, and finished requests that others wait for") { subject in
      try await subject.following { heard in
        let first = try await subject.ticket()
        subject.expect(try await subject.commit(first), .kept)
        let second = try await subject.ticket()
        subject.expect(try await subject.commit(second), .kept)
        let third = try await subject.ticket()
        _ = try await subject.begin()
        try await subject.store.release(third, .abandoned)
        let fourth = try await subject.ticket()
        _ = try await subject.begin()
        subject.expect(try await subject.confirm(fourth, of: second.version), .kept)
        let fence = try await subject.store.fence(subject.record.url, removes: false, replaying: nil)
        // The first commit replaced nothing, and no server waited for it.
        let expected: [FleetMessage] = [
          .stored(subject.record, second.version), .released(subject.record), .stored(subject.record, fourth.version),
          .fenced(subject.record.url, fence),
        ]
        try await subject.wait(for: "the messages \(expected)") { heard() == expected }
      }
    },
    Check("a heartbeat comes back only to its server") { subject in
      try await subject.following("one") { one in
        try await subject.following("two") { two in
          _ = try await subject.store.beat("one", nonce: 41, scopes: [])
          _ = try await subject.store.beat("two", nonce: 42, scopes: [])
          try await subject.wait(for: "the beats") { one() == [.beat(41)] && two() == [.beat(42)] }
          subject.expect(try await subject.store.nodes() == 2, "nodes() does not count two")
        }
      }
      try await subject.wait(for: "the end of the followers") { try await subject.store.nodes() == 0 }
    },
    Check("a beat without a follower is no error, and names the store") { subject in
      let pulses = [
        try await subject.store.beat("none", nonce: 1, scopes: []),
        try await subject.store.beat("none", nonce: 2, scopes: []),
      ]
      subject.expect(pulses[0] == pulses[1] && !pulses[0].store.isEmpty, "two beats returned \(pulses)")
    },
    Check("a scope has one generation until it is renewed, which everybody is told") { subject in
      let (first, other) = (
        try await subject.store.generation(of: "scope", renews: false),
        try await subject.store.generation(of: "other", renews: false)
      )
      subject.expect(first != other, "two scopes have one generation")
      subject.expect(
        try await subject.store.generation(of: "scope", renews: false) == first, "the generation has changed by itself")
      try await subject.following { heard in
        let second = try await subject.store.generation(of: "scope", renews: true)
        subject.expect(second != first, "the generation was not renewed")
        try await subject.wait(for: "the message") { heard() == [.renewed(scope: "scope", second)] }
        let pulse = try await subject.store.beat("one", nonce: 1, scopes: ["scope", "other"])
        subject.expect(pulse.generations == [second, other], "a beat told the generations \(pulse.generations)")
      }
    },
  ]
}

extension FleetStoreConformance.Subject {
  /// Follows while `body` runs, which gets the messages so far.
  fileprivate func following(
    _ node: String = "node", _ body: (@escaping @Sendable () -> [FleetMessage]) async throws -> Void
  ) async throws {
    let heard = Heard()
    let follower = Task { [store] in try? await store.follow(node) { heard.append($0) } }
    defer { follower.cancel() }
    try await wait(for: "the beginning of the messages") { heard.isFollowing }
    try await body { heard.messages }
    follower.cancel()
    await follower.value
  }
}

private final class Heard: Sendable {
  private let state = Mutex<[FleetMessage]>([])

  func append(_ message: FleetMessage) { state.withLock { $0.append(message) } }
  var isFollowing: Bool { state.withLock { $0.first == .following } }
  var messages: [FleetMessage] { state.withLock { Array($0.dropFirst()) } }
}
