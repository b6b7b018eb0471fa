import CMeasuring
import Foundation
import HTTPTypes
import ReactorChangeFeed
import ReactorCore
import ReactorLive
import Synchronization

/// Live resources beside what a program does without them: polling, an invalidation for each
/// change, and on the server a stream that waits and has no feed.
///
/// The server is in this process, so that no network hides anything. The stream passes the same
/// code as one from a socket, in the pieces that the feed writes.
enum Live: Benchmark {
  static let name = "live"
  static let question = "a change until it is shown; 10,000 changes at once; 10,000 clients that wait"

  static func measure(_ bench: Bench) async throws {
    _ = measuring_use_processors(2)
    try await latency(bench)
    try await burst(bench)
    try await clients(bench)
  }

  /// Changes of 50 resources, one at a time. Each polling screen is waited for from a random moment
  /// of its second.
  private static func latency(_ bench: Bench) async throws {
    let rounds = bench.settings.rounds.lowerBound > 5 ? 40 : 10
    let server = CountServer(count: 50)
    let live = ModelLayer(baseURL: StoredArticles.baseURL, transport: server, extensions: [.live("events")])
    let screens = await Screens(live, count: 50)
    try await live.becomeLive()
    var streamed: [Double] = []
    for number in 0..<(rounds * 10) {
      // A resource rests for 250 ms after a request that a change has caused.
      try await Task.sleep(for: .milliseconds(6))
      streamed.append(try await screens.change(number % 50, on: server))
    }
    screens.end()
    let poller = ModelLayer(baseURL: StoredArticles.baseURL, transport: server)
    let polling = await Screens(poller, count: 50, polling: .seconds(1))
    var polled: [Double] = []
    for number in 0..<rounds {
      try await Task.sleep(for: .milliseconds(Int.random(in: 0...1_000)))
      polled.append(try await polling.change(number % 50, on: server))
    }
    polling.end()
    var bare: [Double] = []
    for number in 0..<(rounds * 10) {
      let start = Stopwatch.elapsed.now
      blackHole(try await poller.reactor(Count.self).fetch(Resource("items/\(number % 50)"), policy: .networkOnly))
      bare.append(Stopwatch.elapsed.now - start)
    }
    for (share, limit) in [(0.5, 0.01), (0.99, 0.05)] {
      let name = "a change until it is shown, \(Int(share * 100)) of 100"
      bench.add(figure(name, streamed.quantile(share), "polling at one second", polled.quantile(share), .ratio(limit)))
    }
    bench.add(
      figure(
        "a change until it is shown, 50 of 100", streamed.median, "the bare fetch", bare.median,
        .nanosecondsMore(2_000_000)))
  }

  /// 10,000 events for 1,000 resources in memory, ten of which are observed.
  private static func burst(_ bench: Bench) async throws {
    let rounds = bench.settings.rounds.lowerBound > 5 ? 9 : 3
    let server = CountServer(count: 1_000, isScripted: true)
    let live = ModelLayer(baseURL: StoredArticles.baseURL, transport: server, extensions: [.live("events")])
    let screens = await Screens(live, count: 10)
    try await live.becomeLive()
    let plain = ModelLayer(baseURL: StoredArticles.baseURL, transport: server)
    let others = await Screens(plain, count: 10)
    for layer in [live, plain] {
      for number in 0..<1_000 { blackHole(try await layer.reactor(Count.self).fetch(Resource("items/\(number)"))) }
    }
    var (values, limits, requests) = ([Double](), [Double](), [Int]())
    for _ in 0..<rounds {
      let pieces = server.burst(of: 10_000)
      let before = server.requests
      values.append(
        try await processorTime {
          for piece in pieces { server.send(piece) }
          await screens.wait(for: 9, version: server.version(of: 9))
        })
      requests.append(server.requests - before)
      limits.append(
        try await processorTime {
          server.change(9)
          for number in 0..<10_000 { await plain.invalidate(.resource(Resource("items/\(key(number))"))) }
          await plain.invalidate(.resource("items/9"))
          await others.wait(for: 9, version: server.version(of: 9))
        })
    }
    screens.end()
    others.end()
    // Where the processor is shared, a burst takes longer than a resource rests, and has more.
    let median = requests.map(Double.init).median
    print("10,000 events for 1,000 resources, ten observed: \(requests) requests, at most 30 are wanted")
    try expect(median <= 30, "a burst causes at most 30 requests, not \(median)")
    bench.add(
      figure(
        "10,000 events at once, processor time", values.median, "10,000 invalidations", limits.median, .ratio(0.2)))
  }

  /// The resource of a burst's event. The last of the observed ones has only the last event.
  fileprivate static func key(_ number: Int) -> Int { number % 1_000 == 9 ? 10 : number % 1_000 }

  /// Also for what the work causes in the half second after it.
  private static func processorTime(_ work: () async throws -> Void) async throws -> Double {
    let start = Stopwatch.processor.now
    try await work()
    try await Task.sleep(for: .milliseconds(500))
    return Stopwatch.processor.now - start
  }

  /// The bytes of clients that wait in a task each, beyond those of a stream that only waits.
  private static func clients(_ bench: Bench) async throws {
    guard measuring_counts_allocations() else { return print("Memory cannot be counted on this system.") }
    let count = 10_000
    let request = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/events")
    measuring_begin()
    let feed = ChangeFeed()
    let greeted = Audience()
    greeted.expect(count)
    var tasks: [Task<Void, Never>] = []
    for number in 0..<count {
      let stream = try feed.open(request, user: ChangeAudience("user:\(number)"))
      tasks.append(Task { for await piece in stream where !piece.isEmpty { greeted.hasSeen() } })
    }
    await greeted.all()
    let bytes = Double(measuring_end().live_bytes) / Double(count)
    try expect(feed.clients == count, "all are clients")
    for task in tasks { task.cancel() }
    let plain = try await waiting(count)
    print("an idle client of a feed: \(Int(bytes)) bytes, of which \(Int(plain)) are a stream that waits in a task")
    var figure = figure("an idle client of a feed, beyond a plain stream", bytes - plain, "2 KB", 2_048, .ratio(1))
    figure.unit = .bytes
    bench.add(figure)
  }

  private static func waiting(_ count: Int) async throws -> Double {
    measuring_begin()
    let greeted = Audience()
    greeted.expect(count)
    var (tasks, continuations) = ([Task<Void, Never>](), [AsyncStream<[UInt8]>.Continuation]())
    for _ in 0..<count {
      let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
      continuations.append(continuation)
      continuation.yield([1])
      tasks.append(Task { for await piece in stream where !piece.isEmpty { greeted.hasSeen() } })
    }
    await greeted.all()
    let bytes = Double(measuring_end().live_bytes) / Double(count)
    for continuation in continuations { continuation.finish() }
    for task in tasks { await task.value }
    return bytes
  }

  private static func figure(
    _ name: String, _ value: Double, _ baselineName: String, _ baseline: Double, _ target: Target
  ) -> Figure {
    Figure(
      benchmark: Self.name, name: name, baselineName: baselineName, unit: .nanoseconds, clock: .elapsed, value: value,
      baseline: baseline, ratio: value / baseline,
      spread: Figure.Spread(low: value / baseline, high: value / baseline), difference: value - baseline, rounds: 1,
      target: target)
  }
}

private struct Count: Codable, Sendable { var count: Int }

extension ModelLayer {
  /// Returns once the stream is open, and what was shown before is shown again.
  fileprivate func becomeLive() async throws {
    guard let live else { throw Unexpected(description: "no live extension") }
    for await status in live.statuses where status.isLive { break }
    try await Task.sleep(for: .seconds(1))
  }
}

/// A server of numbers that count their changes, with a feed, or with events that a job sends.
private final class CountServer: StreamingTransport {
  private let feed: ChangeFeed?
  private let counts: Mutex<[Int]>
  private let sent = Atomic(0)
  private let stream = Mutex<AsyncThrowingStream<ArraySlice<UInt8>, any Error>.Continuation?>(nil)
  private let position = Atomic(1)

  init(count: Int, isScripted: Bool = false) {
    counts = Mutex([Int](repeating: 1, count: count))
    feed = isScripted ? nil : ChangeFeed()
  }

  var requests: Int { sent.load(ordering: .relaxed) }
  func version(of key: Int) -> Int { counts.withLock { $0[key] } }

  /// - Returns: the new version.
  @discardableResult func change(_ key: Int) -> Int {
    let version = counts.withLock { counts in
      counts[key] += 1
      return counts[key]
    }
    feed?.publish([.url("/items/\(key)")])
    return version
  }

  /// Changes resources, and returns the events in pieces of 16 KiB.
  func burst(of count: Int) -> [ArraySlice<UInt8>] {
    var text = ""
    for number in 0..<count {
      let key = number == count - 1 ? 9 : Live.key(number)
      change(key)
      let id = position.add(1, ordering: .relaxed).newValue
      text += "event: change\nid: a.\(id)\ndata: {\"changes\":[{\"url\":\"/items/\(key)\"}]}\n\n"
    }
    let bytes = Array(text.utf8)
    return stride(from: 0, to: bytes.count, by: 16_384).map { bytes[$0..<min($0 + 16_384, bytes.count)] }
  }

  func send(_ piece: ArraySlice<UInt8>) { _ = stream.withLock { $0?.yield(piece) } }

  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    sent.add(1, ordering: .relaxed)
    let key = request.path.flatMap { $0.split(separator: "/").last }.flatMap { Int($0) } ?? 0
    return (
      HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=86400"]),
      Data(#"{"count":\#(version(of: key))}"#.utf8)
    )
  }

  func stream(_ request: HTTPRequest, body: Data?) async throws -> (HTTPResponse, ResponseBody) {
    let head = HTTPResponse(status: .ok, headerFields: ChangeFeed.fields)
    if let feed { return (head, ResponseBody(FeedPieces(stream: try feed.open(request)))) }
    let (pieces, continuation) = AsyncThrowingStream.makeStream(of: ArraySlice<UInt8>.self)
    stream.withLock { $0 = continuation }
    let hello = #"{"v":1,"resumed":false,"head":"a.\#(position.load(ordering: .relaxed))","heartbeat":3600}"#
    send(Array("event: hello\ndata: \(hello)\n\n".utf8)[...])
    return (head, ResponseBody(pieces))
  }
}

/// The pieces of a feed's stream as a body.
private struct FeedPieces: AsyncSequence, Sendable {
  let stream: ChangeStream

  func makeAsyncIterator() -> Iterator { Iterator(pieces: stream.makeAsyncIterator()) }

  struct Iterator: AsyncIteratorProtocol {
    var pieces: ChangeStream.Iterator

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
      await pieces.next(isolation: actor)?[...]
    }
  }
}

/// Observers of the first resources of a layer.
private final class Screens: Sendable {
  private struct State {
    var shown: [Int]
    var waiter: (key: Int, version: Int, continuation: CheckedContinuation<Void, Never>)?
  }

  private let state: Mutex<State>
  private let tasks = Mutex<[Task<Void, Never>]>([])

  /// Returns once all show something.
  init(_ layer: ModelLayer, count: Int, polling: Duration = .never) async {
    state = Mutex(State(shown: [Int](repeating: 0, count: count)))
    let reactor = layer.reactor(Count.self)
    for key in 0..<count {
      let task = Task { [self] in
        for await state in reactor.states(for: Resource("items/\(key)"), polling: polling) {
          if let count = state.value?.count { show(count, key) }
        }
      }
      tasks.withLock { $0.append(task) }
    }
    for key in 0..<count { await wait(for: key, version: 1) }
  }

  func end() { for task in tasks.withLock(\.self) { task.cancel() } }

  private func show(_ version: Int, _ key: Int) {
    let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.shown[key] = version
      guard let waiter = state.waiter, waiter.key == key, version >= waiter.version else { return nil }
      state.waiter = nil
      return waiter.continuation
    }
    waiter?.resume()
  }

  func wait(for key: Int, version: Int) async {
    await withCheckedContinuation { continuation in
      let isShown = state.withLock { state in
        if state.shown[key] >= version { return true }
        state.waiter = (key, version, continuation)
        return false
      }
      if isShown { continuation.resume() }
    }
  }

  /// - Returns: the nanoseconds from a change on the server until it is shown.
  func change(_ key: Int, on server: CountServer) async throws -> Double {
    let start = Stopwatch.elapsed.now
    await wait(for: key, version: server.change(key))
    return Stopwatch.elapsed.now - start
  }
}
