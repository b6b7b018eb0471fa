import Foundation
import HTTPTypes
import ReactorTesting
import Synchronization
import Testing

@testable import ReactorChangeFeed

/// A log in memory that can fail, and lose its history.
final class MemorySharedLog: SharedChangeLog {
  struct State {
    var history = "a"
    var entries: [SharedChangeEntry] = []
    var next: UInt64 = 1
    var isDown = false
    var refuses = false
    /// Changes are appended, but the answer is lost.
    var losesAnswers = false
    var onRead: @Sendable () -> Void = {}
    var listeners: [@Sendable () -> Void] = []
  }

  let state = Shared(State())

  func append(_ entry: [UInt8]) async throws {
    if state.value.isDown || state.value.refuses { throw URLError(.cannotConnectToHost) }
    state.change { state in
      state.entries.append(SharedChangeEntry(history: state.history, number: state.next, bytes: entry))
      state.next += 1
    }
    for listener in state.value.listeners { listener() }
    if state.value.losesAnswers { throw URLError(.networkConnectionLost) }
  }

  func entries(behind number: UInt64?) async throws -> [SharedChangeEntry] {
    state.value.onRead()
    if state.value.isDown { throw URLError(.cannotConnectToHost) }
    return Array(state.value.entries.filter { $0.number > number ?? 0 }.prefix(2))
  }

  func listen(_ body: @escaping @Sendable () -> Void) async throws {
    if state.value.isDown { throw URLError(.cannotConnectToHost) }
    state.change { $0.listeners.append(body) }
    body()
    let (stream, _) = AsyncStream.makeStream(of: Void.self)
    for await _ in stream {}
  }

  /// Loses everything, as an emptied store does.
  func lose() {
    state.change { state in
      state.history += "x"
      state.next += 1_000
      state.entries = [SharedChangeEntry(history: state.history, number: state.next, bytes: [])]
      state.next += 1
    }
  }
}

@Suite("A history that several servers share", .timeLimit(.minutes(1))) struct SharedChangeLogTests {
  private let clock = TestClock()
  private let log = MemorySharedLog()
  private var configuration = ChangeFeedConfiguration()

  init() { configuration.clock = clock }

  private static func text(_ bytes: [UInt8]?) -> String { String(decoding: bytes ?? [], as: UTF8.self) }

  private static func request(_ lastEventID: String? = nil) -> HTTPRequest {
    var request = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/events")
    if let name = HTTPField.Name("Last-Event-ID") { request.headerFields[name] = lastEventID }
    return request
  }

  /// Returns the id of the last event.
  private static func id(in text: String) -> String? {
    text.split(separator: "\n").last { $0.hasPrefix("id: ") }.map { String($0.dropFirst(4)) }
  }

  /// Runs feeds that share the log, and have read one change.
  private func run(_ count: Int, _ body: ([ChangeFeed]) async throws -> Void) async throws {
    let feeds = (0..<count).map { _ in ChangeFeed(configuration, log: log) }
    let tasks = feeds.map { feed in Task { await feed.run() } }
    feeds[0].publish([.url("/0")])
    for feed in feeds { while feed.state.withLock(\.log.head) != 1 { await Task.yield() } }
    let result: Result<Void, any Error>
    do { result = .success(try await body(feeds)) } catch { result = .failure(error) }
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
    try result.get()
  }

  @Test func `a change that one server publishes is told by each, under one position`() async throws {
    try await run(2) { feeds in
      var clients = try feeds.map { try $0.open(Self.request()).makeAsyncIterator() }
      for index in clients.indices { _ = await clients[index].next() }
      feeds[0].publish([.url("/1")], to: .init("user:ada"))
      feeds[0].publish([.url("/2")], by: "5f0c", spread: .seconds(4))
      var told: [String] = []
      for index in clients.indices { told.append(Self.text(await clients[index].next())) }
      #expect(told[0] == told[1])
      #expect(told[0].contains(#"{"changes":[{"url":"/2","by":"5f0c","spread":4000}]}"#))
      #expect(Self.id(in: told[0]) == "a.3")
    }
  }

  @Test func `a client continues at another server, and gets what it missed`() async throws {
    try await run(2) { feeds in
      feeds[1].publish([.url("/1")])
      feeds[1].publish([.url("/2")], to: .init("user:grace"))
      feeds[1].publish([.url("/3")], to: .init("user:ada"))
      while feeds[1].state.withLock(\.log.head) != 4 { await Task.yield() }
      var client = try feeds[1].open(Self.request("a.1"), user: .init("user:ada")).makeAsyncIterator()
      let hello = Self.text(await client.next())
      #expect(hello.contains("\"resumed\":true"))
      let missed = Self.text(await client.next())
      #expect(missed.contains("/1") && !missed.contains("/2") && missed.contains("/3"))
    }
  }

  @Test func `a server that has just started knows each place, also one that it has yet to read`() async throws {
    try await run(1) { feeds in
      for number in 1..<8 { feeds[0].publish([.url("/\(number)")]) }
      while feeds[0].state.withLock(\.log.head) != 8 { await Task.yield() }
      let new = ChangeFeed(configuration, log: log)
      let task = Task { await new.run() }
      var opened: ChangeStream.Iterator?
      while opened == nil {
        do throws(ChangeFeedError) { opened = try new.open(Self.request("a.7")).makeAsyncIterator() } catch {
          await Task.yield()
        }
      }
      var client = try #require(opened)
      #expect(Self.text(await client.next()).contains(#""resumed":true,"head":"a.8""#))
      #expect(Self.text(await client.next()).contains("/7"))
      var ahead = try new.open(Self.request("a.10")).makeAsyncIterator()
      #expect(Self.text(await ahead.next()).contains(#""resumed":true,"head":"a.10""#))
      for number in 8..<11 { feeds[0].publish([.url("/\(number)")]) }
      var told = ""
      while !told.contains("/10") { told += Self.text(await ahead.next()) }
      #expect(Self.id(in: told) == "a.11")
      // It is not told again what it has named.
      #expect(!told.contains("/8") && !told.contains("/9"))
      task.cancel()
      await task.value
    }
  }

  @Test func `a lost history is a reset for each client, and so is one of another release`() async throws {
    try await run(1) { feeds in
      var client = try feeds[0].open(Self.request()).makeAsyncIterator()
      _ = await client.next()
      log.lose()
      feeds[0].publish([.url("/1")])
      let reset = Self.text(await client.next())
      #expect(reset.hasPrefix("event: reset"))
      #expect(Self.id(in: reset)?.hasPrefix("ax.") == true)
      var late = try feeds[0].open(Self.request("a.1")).makeAsyncIterator()
      #expect(Self.text(await late.next()).contains("\"resumed\":false"))
      try await log.append(Array("2 something new\n".utf8))
      #expect(Self.text(await client.next()).hasPrefix("event: reset"))
      feeds[0].publish([.url("/2")])
      #expect(Self.text(await client.next()).contains("/2"))
    }
  }

  @Test func `a server that does not hear the log ends its streams, and later tells what was published`() async throws {
    let early = ChangeFeed(configuration, log: log)
    #expect(throws: ChangeFeedError.unavailable) { try early.open(Self.request()) }
    try await run(1) { feeds in
      var client = try feeds[0].open(Self.request()).makeAsyncIterator()
      _ = await client.next()
      log.state.change { $0.isDown = true }
      feeds[0].publish([.url("/1")])
      clock.advance(by: .seconds(16))
      #expect(Self.text(await client.next()).hasPrefix("event: bye"))
      #expect(throws: ChangeFeedError.unavailable) { try feeds[0].open(Self.request("a.1")) }
      log.state.change { $0.isDown = false }
      while feeds[0].state.withLock(\.log.head) != 2 {
        clock.advance(by: .seconds(1))
        await Task.yield()
      }
      var back = try feeds[0].open(Self.request("a.1")).makeAsyncIterator()
      #expect(Self.text(await back.next()).contains("\"resumed\":true"))
      #expect(Self.text(await back.next()).contains("/1"))
    }
  }

  @Test func `a server whose changes are refused ends its streams, although it hears the log`() async throws {
    try await run(1) { feeds in
      var client = try feeds[0].open(Self.request()).makeAsyncIterator()
      _ = await client.next()
      log.state.change { $0.refuses = true }
      feeds[0].publish([.url("/1")])
      while feeds[0].state.withLock(\.sharing.refusedAt) == nil { await Task.yield() }
      while (feeds[0].state.withLock(\.sharing.heardAt) ?? .zero) <= .seconds(16) {
        clock.advance(by: .milliseconds(100))
        await Task.yield()
      }
      #expect(Self.text(await client.next()).hasPrefix("event: bye"))
      #expect(throws: ChangeFeedError.unavailable) { try feeds[0].open(Self.request("a.1")) }
      log.state.change { $0.refuses = false }
      while feeds[0].state.withLock(\.log.head) != 2 {
        clock.advance(by: .seconds(1))
        await Task.yield()
      }
      while feeds[0].state.withLock(\.sharing.refusedAt) != nil { await Task.yield() }
      #expect(throws: Never.self) { try feeds[0].open(Self.request("a.1")) }
    }
  }

  @Test func `a server that is stopped while it waits to append again tries once more`() async throws {
    let feed = ChangeFeed(configuration, log: log)
    log.state.change { $0.refuses = true }
    let task = Task { await feed.run() }
    feed.publish([.url("/1")])
    while feed.state.withLock(\.sharing.refusedAt) == nil { await Task.yield() }
    log.state.change { $0.refuses = false }
    task.cancel()
    await task.value
    #expect(log.state.value.entries.count == 1)
  }

  @Test func `after a silence, no stream is opened before the history is read to its end`() async throws {
    try await run(1) { [log] feeds in
      log.state.change { $0.isDown = true }
      while !feeds[0].state.withLock({ feeds[0].isBlind($0, at: feeds[0].elapsed()) }) {
        clock.advance(by: .seconds(16))
        await Task.yield()
      }
      let refusals = Shared<[Bool]>([])
      log.state.change { state in
        for number in UInt64(2)...5 {
          let bytes = PublishedChange([.url("/\(number)")], to: .everyone).bytes
          state.entries.append(SharedChangeEntry(history: "a", number: number, bytes: bytes))
        }
        state.next = 6
        state.onRead = { [feed = feeds[0]] in
          let isRefused: Bool
          do throws(ChangeFeedError) {
            _ = try feed.open(Self.request("a.1"))
            isRefused = false
          } catch { isRefused = true }
          refusals.change { $0.append(isRefused) }
        }
        state.isDown = false
      }
      while feeds[0].state.withLock(\.log.head) != 5 || refusals.value.count < 3 {
        clock.advance(by: .milliseconds(100))
        await Task.yield()
      }
      // Before each of two batches, and before the answer that there are no more.
      #expect(refusals.value.prefix(3) == [true, true, true])
      log.state.change { $0.onRead = {} }
    }
  }

  @Test func `a removal that is repeated after an error is a question, and so is what has waited`() async throws {
    try await run(1) { feeds in
      log.state.change { $0.losesAnswers = true }
      feeds[0].publish([.gone("/1")], by: "5f0c")
      while feeds[0].state.withLock(\.sharing.refusedAt) == nil { await Task.yield() }
      feeds[0].publish([.gone("/2"), .url("/,\"gone\":true")])
      log.state.change { $0.losesAnswers = false }
      while feeds[0].state.withLock(\.log.head) != 4 {
        clock.advance(by: .seconds(1))
        await Task.yield()
      }
      while feeds[0].state.withLock(\.sharing.refusedAt) != nil { await Task.yield() }
      feeds[0].publish([.gone("/3")])
      while feeds[0].state.withLock(\.log.head) != 5 { await Task.yield() }
      let told = log.state.value.entries.map { PublishedChange(reading: $0.bytes).data }
      #expect(
        told.dropFirst() == [
          #"{"changes":[{"url":"/1","gone":true,"by":"5f0c"}]}"#, #"{"changes":[{"url":"/1","by":"5f0c"}]}"#,
          #"{"changes":[{"url":"/2"},{"url":"/,\"gone\":true"}]}"#, #"{"changes":[{"url":"/3","gone":true}]}"#,
        ])
    }
  }

  @Test func `more changes than are kept become one reset while the log is away`() async throws {
    var configuration = configuration
    configuration.changes = 3
    let feed = ChangeFeed(configuration, log: log)
    for number in 0..<5 { feed.publish([.url("/\(number)")]) }
    #expect(feed.state.withLock(\.sharing.outgoing).map(\.data) == [nil, #"{"changes":[{"url":"/4"}]}"#])
  }

  @Test(arguments: [
    PublishedChange([.url("/1"), .gone("/2")], to: .everyone), PublishedChange([.all], by: "a", to: .init("")),
    PublishedChange([.group("é\n")], spread: .milliseconds(1500), to: .init("user:1\n2")), .reset,
  ])
  func `a change is read as it was appended`(_ change: PublishedChange) {
    #expect(PublishedChange(reading: change.bytes) == change)
  }

  @Test(arguments: ["", "1", "1 change - 9\nabc", "1 change - -1\nabc", "2 change - -\n{}", "1 other - -\n{}"])
  func `an entry that cannot be read is a reset`(_ text: String) {
    #expect(PublishedChange(reading: Array(text.utf8)) == .reset)
  }

  @Test func `ten thousand clients that come at once ask at most twice as often as permitted`() async throws {
    let feed = ChangeFeed(configuration)
    var random = SplitMix(state: 7)
    var asked: [Int: Int] = [:]
    var streams: [ChangeStream] = []
    for _ in 0..<10_000 {
      let stream = try feed.open(Self.request("old.1"))
      streams.append(stream)
      var pieces = stream.makeAsyncIterator()
      let hello = Self.text(await pieces.next())
      let text = hello.split(separator: "\"spread\":").dropFirst().first?.prefix { $0.isNumber } ?? "0"
      // As a client does, which waits for at least a part of two seconds.
      let spread = max(Double(text) ?? 0, 2_000)
      asked[Int(Double.random(in: 0...spread, using: &random) / 1_000), default: 0] += 1
    }
    #expect(asked.values.reduce(0, +) == 10_000)
    #expect(try #require(asked.values.max()) <= 2_000)
    #expect(try #require(asked.keys.max()) <= 20)
    // The rate is free again.
    clock.advance(by: .seconds(20))
    var later = try feed.open(Self.request()).makeAsyncIterator()
    #expect(!Self.text(await later.next()).contains("spread"))
    feed.reset()
    #expect(Self.text(await later.next()).contains(#"data: {"spread":10001}"#))
  }
}

private struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
