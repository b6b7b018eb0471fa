import ReactorCore
import ReactorTesting
import Synchronization

/// Checks without a change of connectivity.
extension ReachabilityConformance {
  static let standing = [
    Check("each access to `changes` returns a new stream, which first yields the current value") { subject in
      for _ in 0..<2 {
        let before = subject.reachability.isReachable
        let first = try await subject.first(of: subject.reachability.changes)
        let after = subject.reachability.isReachable
        subject.expect(
          first == before || first == after,
          "isReachable is \(after), the stream's first value \(first, default: "missing")")
      }
    },
    Check("a stream ends when its reader is cancelled") { subject in
      let stream = subject.reachability.changes
      let hasBegun = Gate()
      let reader = Task {
        for await _ in stream { hasBegun.open() }
        hasBegun.open()
      }
      try await subject.wait(for: "the current value") { try await hasBegun.wait() }
      reader.cancel()
      try await subject.wait(for: "the end of a stream whose reader was cancelled") {
        try await reader.ended()
      }
    },
    Check("a hundred streams can be read concurrently") { subject in
      let streams = (0..<100).map { _ in subject.reachability.changes }
      let firsts = try await withThrowingTaskGroup(of: Bool?.self) { group in
        for stream in streams { group.addTask { try await subject.first(of: stream) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      subject.expect(!firsts.contains(nil), "\(firsts.count { $0 == nil }) of 100 streams ended without a value")
    },
    Check("unread streams do not affect others") { subject in
      let unread = (0..<10).map { _ in subject.reachability.changes }
      let first = try await subject.first(of: subject.reachability.changes)
      subject.expect(first != nil, "another stream ended without a value")
      withExtendedLifetime(unread) {}
    },
  ]
}

/// Checks of changes of connectivity.
extension ReachabilityConformance {
  static let changing = [
    Check("an open stream yields the change, and isReachable agrees") { subject in
      for value in [true, false, true] {
        let stream = subject.reachability.changes
        try await subject.set(value)
        let values = try await subject.values(until: value, of: stream)
        subject.expect(values.last == value, "connectivity was set to \(value), the stream yielded \(values)")
        subject.expect(
          subject.reachability.isReachable == value, "isReachable is \(!value) after the stream yielded \(values)")
      }
    },
    Check("a stream that is opened after a change first yields the new value") { subject in
      for value in [false, true] {
        try await subject.set(value)
        _ = try await subject.values(until: value, of: subject.reachability.changes)
        let first = try await subject.first(of: subject.reachability.changes)
        subject.expect(
          first == value, "connectivity was set to \(value), the stream's first value is \(first, default: "missing")")
      }
    },
    Check("every open stream yields every change once") { subject in
      try await subject.settle(true)
      let readers = (0..<5).map { _ in ReachabilityReader(subject.reachability.changes) }
      var expected = [true]
      try await subject.wait(for: readers, count: expected.count)
      for value in [true, false, false, true, false, true] {
        try await subject.set(value)
        if expected.last != value { expected.append(value) }
        try await subject.wait(for: readers, count: expected.count)
      }
      for reader in readers {
        reader.stop()
        subject.expect(reader.values == expected, "expected \(expected), the stream yielded \(reader.values)")
      }
    },
    Check("the release of a stream does not stop another") { subject in
      try await subject.settle(true)
      let reader = ReachabilityReader(subject.reachability.changes)
      defer { reader.stop() }
      for value in [false, true] {
        _ = try await subject.first(of: subject.reachability.changes)
        try await subject.set(value)
        try await subject.wait(for: [reader], count: value ? 3 : 2)
      }
      subject.expect(
        reader.values == [true, false, true], "the other stream yielded \(reader.values), not true, false, true")
    },
  ]
}

extension ReachabilityConformance.Subject {
  /// Sets connectivity, and returns once the reachability reports it.
  fileprivate func settle(_ value: Bool) async throws {
    try await set(value)
    _ = try await values(until: value, of: reachability.changes)
  }

  fileprivate func wait(for readers: [ReachabilityReader], count: Int) async throws {
    for reader in readers {
      try await wait(for: "value \(count) of a stream that has yielded \(reader.values)") {
        try await reader.wait(for: count)
      }
    }
  }
}

/// A task that reads a stream from the moment of its creation.
private final class ReachabilityReader: Sendable {
  private let seen: Seen
  private let task: Task<Void, Never>

  private final class Seen: Sendable {
    let values = Mutex<[Bool]>([])
    let count = Tally()
  }

  init(_ stream: AsyncStream<Bool>) {
    let seen = Seen()
    self.seen = seen
    task = Task {
      for await value in stream {
        seen.values.withLock { $0.append(value) }
        seen.count.add(1)
      }
    }
  }

  var values: [Bool] { seen.values.withLock { $0 } }
  func wait(for count: Int) async throws { try await seen.count.wait(for: count) }
  func stop() { task.cancel() }
  deinit { task.cancel() }
}

extension Task where Success == Void, Failure == Never {
  /// Returns once the task has finished, or the caller is cancelled.
  ///
  /// - Throws: `CancellationError`, as soon as the caller is cancelled.
  fileprivate func ended() async throws {
    let end = Gate()
    Task<Void, Never> {
      await self.value
      end.open()
    }
    try await end.wait()
  }
}
