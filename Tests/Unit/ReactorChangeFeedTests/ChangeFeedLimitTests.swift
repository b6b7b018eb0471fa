import HTTPTypes
import ReactorTesting
import Testing

@testable import ReactorChangeFeed

@Suite("The limits of a feed", .timeLimit(.minutes(1))) struct ChangeFeedLimitTests {
  private let clock = TestClock()
  private var configuration = ChangeFeedConfiguration()
  private let ada = ChangeAudience("user:ada")

  init() { configuration.clock = clock }

  private let request = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/events")

  private static func text(_ bytes: [UInt8]?) -> String { String(decoding: bytes ?? [], as: UTF8.self) }

  /// Reads a stream in a task.
  private func read(_ stream: ChangeStream, into pieces: Shared<[String]>) -> Task<Void, Never> {
    Task {
      for await piece in stream { pieces.change { $0.append(Self.text(piece)) } }
    }
  }

  @Test func `changes for others do not overtake a client that waits`() async throws {
    var configuration = configuration
    configuration.changes = 5
    let feed = ChangeFeed(configuration)
    let pieces = Shared<[String]>([])
    let reader = read(try feed.open(request, user: ada), into: pieces)
    while feed.waiting == 0 { await Task.yield() }
    for number in 0..<20 { feed.publish([.url("/\(number)")], to: .init("user:grace")) }
    #expect(feed.waiting == 1)
    feed.publish([.url("/mine")], to: ada)
    while pieces.value.count < 2 { await Task.yield() }
    #expect(pieces.value[1].contains("/mine") && !pieces.value[1].contains("reset"))
    reader.cancel()
    await reader.value
  }

  @Test func `the streams of one user end with a farewell, and are told nothing else`() async throws {
    let feed = ChangeFeed(configuration)
    let pieces = Shared<[String]>([])
    let waiting = read(try feed.open(request, user: ada), into: pieces)
    var writing = try feed.open(request, for: [ada]).makeAsyncIterator()
    var other = try feed.open(request, user: .init("user:grace")).makeAsyncIterator()
    _ = await writing.next()
    _ = await other.next()
    while feed.waiting == 0 { await Task.yield() }
    feed.publish([.url("/late")])
    feed.disconnect(ada)
    #expect(feed.clients == 1)
    await waiting.value
    #expect(pieces.value.last?.hasSuffix("event: bye\ndata: {}\n\n") == true)
    let farewell = Self.text(await writing.next())
    #expect(farewell == "event: bye\ndata: {}\n\n")
    let end = await writing.next()
    #expect(end == nil)
    let told = Self.text(await other.next())
    #expect(told.contains("/late"))
  }

  @Test func `a user has as many streams as permitted, and other users have theirs`() async throws {
    let feed = ChangeFeed(configuration)
    var streams = try (0..<8).map { _ in try feed.open(request, user: ada) }
    #expect(throws: ChangeFeedError.tooManyClientsOfUser(limit: 8)) { try feed.open(request, user: ada) }
    streams.append(try feed.open(request, user: .init("user:grace")))
    streams.append(try feed.open(request))
    streams.removeFirst()
    streams.append(try feed.open(request, user: ada))
    #expect(feed.clients == 10)
    withExtendedLifetime(streams) {}
  }

  @Test func `a refusal says with which response, and when to come back`() {
    let all = ChangeFeedError.tooManyClients(limit: 1).response
    #expect(all.status == .serviceUnavailable && all.headerFields[.retryAfter] == "10")
    let user = ChangeFeedError.tooManyClientsOfUser(limit: 1).response
    #expect(user.status == .tooManyRequests && user.headerFields[.retryAfter] == "60")
  }

  @Test func `a client that takes nothing for 30 seconds loses its place, and its connection is closed`() async throws {
    let feed = ChangeFeed(configuration)
    let (stalls, stalled) = AsyncStream.makeStream(of: Void.self)
    var slow = try feed.open(request) { stalled.yield() }.makeAsyncIterator()
    let pieces = Shared<[String]>([])
    let reader = read(try feed.open(request), into: pieces)
    _ = await slow.next()
    while feed.waiting == 0 { await Task.yield() }
    try await clock.waitForSleepers()
    clock.advance(by: .seconds(29))
    while pieces.value.count < 2 { await Task.yield() }
    try await clock.waitForSleepers()
    #expect(feed.clients == 2)
    clock.advance(by: .seconds(10))
    for await _ in stalls { break }
    #expect(feed.clients == 1)
    let farewell = Self.text(await slow.next())
    #expect(farewell.hasPrefix("event: bye"))
    reader.cancel()
    await reader.value
  }
}
