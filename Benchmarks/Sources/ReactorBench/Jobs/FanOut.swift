import ReactorCore
import Synchronization

/// The cost of a change for each of its observers, from a local write until every stream's task has
/// seen the new value.
///
/// The limit calls closures, on the spot: no task, no order, no slow reader. A second limit does
/// what streams do by hand: an array of `AsyncStream`s that keep the newest value, each with its
/// task.
enum FanOut: Benchmark {
  static let name = "fan-out"
  static let question = "one change, seen by 1, 100 and 10,000 streams"

  static func measure(_ bench: Bench) async throws {
    for count in [1, 100, 10_000] {
      let watched = try await Watched(count)
      let closures = Closures(count)
      try await bench.compare(
        "one change, per stream of \(Table.whole(count))", to: "a closure array", target: nil,
        operations: (count, count),
        job: { try await watched.change($0) }, limit: { closures.change($0) })
      await watched.end()
    }
    let (few, many) = (try await Watched(100), try await Watched(10_000))
    try await bench.compare(
      "one change, per stream of 10,000", to: "per stream of 100", target: .ratio(1.2), operations: (10_000, 100),
      job: { try await many.change($0) }, limit: { try await few.change($0) })
    await few.end()
    let streams = await AsyncStreams(10_000)
    try await bench.compare(
      "one change, per stream of 10,000", to: "an array of AsyncStreams", target: .ratio(1.2),
      operations: (10_000, 10_000),
      job: { try await many.change($0) }, limit: { await streams.change($0) })
    await many.end()
    await streams.end()
  }

  static func grow(_ growth: Growth) async throws {
    try await growth.curve("one change, for all", of: "streams", expected: 1, sizes: [1, 10, 100, 1_000, 10_000]) {
      let watched = try await Watched($0)
      return { try await watched.change($0) }
    }
  }
}

/// Awaits that so many have seen something.
final class Audience: Sendable {
  private let missing = Atomic(0)
  private let continuation = Mutex<CheckedContinuation<Void, Never>?>(nil)

  func expect(_ count: Int) { missing.store(count, ordering: .sequentiallyConsistent) }

  func hasSeen() {
    guard missing.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 else { return }
    continuation.withLock { $0.take() }?.resume()
  }

  func all() async {
    await withCheckedContinuation { new in
      let isDone = continuation.withLock { waiting in
        if missing.load(ordering: .sequentiallyConsistent) == 0 { return true }
        waiting = new
        return false
      }
      if isDone { new.resume() }
    }
  }
}

/// A value that streams of a reactor watch.
private final class Watched {
  private static let resource: Resource = "counter"
  private let audience = Audience()
  private let reactor = Reactor<Int>(flow: ReactorFlow { _ in 0 })
  private let count: Int
  private var value = 0
  private var tasks: [Task<Void, Never>] = []

  init(_ count: Int) async throws {
    self.count = count
    try await reactor.save(value, for: Self.resource)
    audience.expect(count)
    for _ in 0..<count {
      tasks.append(Self.watching(reactor, with: audience))
    }
    await audience.all()
  }

  private static func watching(_ reactor: Reactor<Int>, with audience: Audience) -> Task<Void, Never> {
    Task {
      var last = -1
      for await state in reactor.states(for: resource, policy: .cacheOnly) {
        guard let value = state.value, value > last else { continue }
        last = value
        audience.hasSeen()
      }
    }
  }

  func change(_ times: Int) async throws {
    for _ in 0..<times {
      value += 1
      audience.expect(count)
      try await reactor.save(value, for: Self.resource)
      await audience.all()
    }
  }

  deinit { for task in tasks { task.cancel() } }

  func end() async {
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
  }
}

private final class Closures {
  private final class Seen {
    var value = 0
  }

  private var observers: [(Int) -> Void] = []
  private var value = 0

  init(_ count: Int) {
    for _ in 0..<count {
      let seen = Seen()
      observers.append { value in
        seen.value = value
        blackHole(seen)
      }
    }
  }

  func change(_ times: Int) {
    for _ in 0..<times {
      value += 1
      for observer in observers { observer(value) }
    }
  }
}

private final class AsyncStreams {
  private let audience = Audience()
  private var continuations: [AsyncStream<Int>.Continuation] = []
  private var tasks: [Task<Void, Never>] = []
  private var value = 0

  init(_ count: Int) async {
    audience.expect(count)
    for _ in 0..<count {
      let (stream, continuation) = AsyncStream<Int>.makeStream(bufferingPolicy: .bufferingNewest(1))
      continuation.yield(value)
      continuations.append(continuation)
      tasks.append(
        Task { [audience] in
          for await _ in stream { audience.hasSeen() }
        })
    }
    await audience.all()
  }

  func change(_ times: Int) async {
    for _ in 0..<times {
      value += 1
      audience.expect(continuations.count)
      for continuation in continuations { continuation.yield(value) }
      await audience.all()
    }
  }

  func end() async {
    for continuation in continuations { continuation.finish() }
    for task in tasks { await task.value }
  }
}
