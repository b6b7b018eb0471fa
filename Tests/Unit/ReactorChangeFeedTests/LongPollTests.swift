import HTTPTypes
import ReactorTesting
import Testing

@testable import ReactorChangeFeed

@Suite("Long polls of a feed", .timeLimit(.minutes(1))) struct LongPollTests {
  private let clock = TestClock()
  private var configuration = ChangeFeedConfiguration()
  private let ada = ChangeAudience("user:ada")

  init() { configuration.clock = clock }

  private func request(_ lastEventID: String? = nil, prefer: String? = "wait=25") -> HTTPRequest {
    var request = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/events")
    if let name = HTTPField.Name("Last-Event-ID") { request.headerFields[name] = lastEventID }
    if let name = HTTPField.Name("Prefer") { request.headerFields[name] = prefer }
    return request
  }

  private static func text(_ bytes: [UInt8]?) -> String { String(decoding: bytes ?? [], as: UTF8.self) }

  /// Returns the position at which the feed is.
  private func position(of feed: ChangeFeed) async throws -> String {
    var stream = try feed.open(request(prefer: nil)).makeAsyncIterator()
    let hello = Self.text(await stream.next())
    let start = try #require(hello.firstRange(of: "\"head\":\"")?.upperBound)
    return String(hello[start...].prefix { $0 != "\"" })
  }

  /// Reads an answer in a task, to its end.
  private func read(_ stream: ChangeStream, into answer: Shared<String?>) -> Task<Void, Never> {
    Task {
      var text = ""
      for await piece in stream { text += Self.text(piece) }
      answer.change { [text] in $0 = text }
    }
  }

  @Test func `what a client has missed is its answer, at once and as one piece`() async throws {
    let feed = ChangeFeed(configuration)
    let place = try await position(of: feed)
    feed.publish([.url("/1")])
    feed.publish([.url("/2")], to: .init("admins"))
    var client = try feed.open(request(place)).makeAsyncIterator()
    let answer = Self.text(await client.next())
    #expect(answer.hasPrefix("retry: 2000\nevent: hello\ndata: {\"v\":1,\"resumed\":true,\"head\":\""))
    #expect(answer.contains(".2\",\"heartbeat\":15.0,\"wait\":25.0}\n\n"))
    #expect(answer.contains("\"/1\"") && !answer.contains("\"/2\""))
    // The changes of others have moved the position.
    #expect(answer.hasSuffix(".2\n\n"))
    let end = await client.next()
    #expect(end == nil)
  }

  @Test func `a client that has missed nothing is answered with the next change that is for it`() async throws {
    let feed = ChangeFeed(configuration)
    let place = try await position(of: feed)
    let answer = Shared<String?>(nil)
    let reader = read(try feed.open(request(place), user: ada), into: answer)
    while feed.waiting == 0 { await Task.yield() }
    feed.publish([.url("/others")], to: .init("user:grace"))
    #expect(feed.waiting == 1)
    feed.publish([.url("/mine")], to: ada)
    await reader.value
    let text = try #require(answer.value)
    #expect(text.contains("\"/mine\"") && !text.contains("\"/others\"") && text.hasSuffix(".2\n\n"))
    #expect(feed.clients == 0)
  }

  @Test func `a client is told its place before its time is over, and within two heartbeats`() async throws {
    for (prefer, limit) in [("wait=25", 25.0), ("wait=4000000000", 30), ("respond-async, Wait = \"5\"; x=1", 5)] {
      let feed = ChangeFeed(configuration)
      let place = try await position(of: feed)
      let answer = Shared<String?>(nil)
      let start = clock.now
      let reader = read(try feed.open(request(place, prefer: prefer)), into: answer)
      while feed.waiting == 0 { await Task.yield() }
      while answer.value == nil {
        try await clock.waitForSleepers()
        clock.advance(by: .milliseconds(250))
        for _ in 0..<10 { await Task.yield() }
      }
      await reader.value
      let waited = start.duration(to: clock.now) / .seconds(1)
      #expect(waited <= limit + 0.25 && waited >= limit - 4, "\(prefer): \(waited)")
      #expect(answer.value?.contains("\"resumed\":true") == true)
      #expect(answer.value?.hasSuffix("id: \(place)\n\n") == true)
    }
  }

  @Test(arguments: [nil, "other.1"])
  func `a place that is not known is answered at once`(_ place: String?) async throws {
    let feed = ChangeFeed(configuration)
    feed.publish([.all])
    var client = try feed.open(request(place)).makeAsyncIterator()
    let answer = Self.text(await client.next())
    #expect(answer.contains("\"resumed\":false") && answer.contains(".1\"") && answer.contains("\"wait\":25.0"))
    let end = await client.next()
    #expect(end == nil)
  }

  @Test func `a client whose place is lost while it waits is told so`() async throws {
    let feed = ChangeFeed(configuration)
    feed.publish([.all])
    let answer = Shared<String?>(nil)
    let reader = read(try feed.open(request(try await position(of: feed))), into: answer)
    while feed.waiting == 0 { await Task.yield() }
    feed.reset()
    await reader.value
    #expect(answer.value?.contains("\"resumed\":false") == true)
    #expect(answer.value?.contains(".2\"") == true)
  }

  @Test(arguments: ["wait", "wait=", "wait=-1", "wait=1.5", "waits=1", "heartbeat=60", ""])
  func `a preference that names no time is for a stream`(_ prefer: String) async throws {
    let feed = ChangeFeed(configuration)
    var client = try feed.open(request(prefer: prefer)).makeAsyncIterator()
    let hello = Self.text(await client.next())
    #expect(!hello.contains("\"wait\""))
    feed.publish([.url("/1")])
    let event = Self.text(await client.next())
    #expect(event.contains("\"/1\""))
  }

  @Test func `a client counts while it waits, and a user who signs out gets a farewell and no change`() async throws {
    var configuration = configuration
    configuration.clientsPerUser = 1
    let feed = ChangeFeed(configuration)
    let answer = Shared<String?>(nil)
    let reader = read(try feed.open(request(try await position(of: feed)), user: ada), into: answer)
    while feed.waiting == 0 { await Task.yield() }
    #expect(throws: ChangeFeedError.tooManyClientsOfUser(limit: 1)) { try feed.open(request(), user: ada) }
    feed.disconnect(ada)
    feed.publish([.url("/late")])
    await reader.value
    #expect(answer.value == "event: bye\ndata: {}\n\n")
    #expect(feed.clients == 0)
  }

  @Test func `a server that goes answers who waits, with the last change and a farewell`() async throws {
    let feed = ChangeFeed(configuration)
    let place = try await position(of: feed)
    let answer = Shared<String?>(nil)
    let reader = read(try feed.open(request(place)), into: answer)
    while feed.waiting == 0 { await Task.yield() }
    feed.shutdown()
    await reader.value
    #expect(answer.value?.hasSuffix("id: \(place)\n\nevent: bye\ndata: {}\n\n") == true)
  }

  @Test func `a token that expires ends the wait without a change`() async throws {
    let feed = ChangeFeed(configuration)
    let place = try await position(of: feed)
    var client = try feed.open(request(place), lifetime: .seconds(5)).makeAsyncIterator()
    clock.advance(by: .seconds(5))
    feed.publish([.url("/late")])
    #expect(Self.text(await client.next()) == "event: bye\ndata: {}\n\n")
  }
}
