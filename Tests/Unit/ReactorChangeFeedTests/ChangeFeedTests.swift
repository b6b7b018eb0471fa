import Foundation
import HTTPTypes
import ReactorTesting
import Testing

@testable import ReactorChangeFeed

@Suite("A feed of changes", .timeLimit(.minutes(1))) struct ChangeFeedTests {
  private let clock = TestClock()
  private var configuration = ChangeFeedConfiguration()

  init() { configuration.clock = clock }

  private static func request(_ lastEventID: String? = nil) -> HTTPRequest {
    var request = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/events")
    if let name = HTTPField.Name("Last-Event-ID") { request.headerFields[name] = lastEventID }
    return request
  }

  private static func text(_ bytes: [UInt8]?) -> String { String(decoding: bytes ?? [], as: UTF8.self) }

  /// Returns the position that a greeting or an event names.
  private static func position(in text: String) -> String {
    let start = text.firstRange(of: "\"head\":\"")?.upperBound ?? text.firstRange(of: "id: ")?.upperBound
    return start.map { String(text[$0...].prefix { $0 != "\"" && $0 != "\n" }) } ?? ""
  }

  @Test func `a client is greeted at the head, and then told each change once`() async throws {
    let feed = ChangeFeed(configuration)
    feed.publish([.url("/before")])
    var client = try feed.open(Self.request()).makeAsyncIterator()
    let hello = Self.text(await client.next())
    #expect(hello.hasPrefix("retry: 2000\nevent: hello\ndata: {\"v\":1,\"resumed\":false,\"head\":\""))
    #expect(hello.hasSuffix(".1\",\"heartbeat\":15.0}\n\n"))
    feed.publish([.url("/posts/7"), .group("feed")])
    let event = Self.text(await client.next())
    #expect(event.contains(#"data: {"changes":[{"url":"/posts/7"},{"group":"feed"}]}"#))
    #expect(Self.position(in: event).hasSuffix(".2"))
  }

  @Test func `a client that waits is woken by a change, and not by one of somebody else`() async throws {
    let feed = ChangeFeed(configuration)
    let stream = try feed.open(Self.request(), for: [.init("user:1")])
    let pieces = Shared<[String]>([])
    let reader = Task {
      for await piece in stream { pieces.change { $0.append(Self.text(piece)) } }
    }
    while feed.waiting == 0 { await Task.yield() }
    feed.publish([.url("/other")], to: .init("user:2"))
    feed.publish([.url("/mine")], to: .init("user:1"))
    while pieces.value.count < 2 { await Task.yield() }
    #expect(pieces.value.last?.contains("/mine") == true)
    #expect(!pieces.value.joined().contains("/other"))
    reader.cancel()
    await reader.value
  }

  @Test func `a change for an audience without a name is not told to everyone`() async throws {
    let feed = ChangeFeed(configuration)
    var client = try feed.open(Self.request()).makeAsyncIterator()
    _ = await client.next()
    feed.publish([.url("/secret")], to: ChangeAudience(""))
    feed.publish([.url("/open")])
    let told = Self.text(await client.next())
    #expect(told.contains("/open") && !told.contains("/secret"))
  }

  @Test func `a client that comes back gets what it missed, and only what is for it`() async throws {
    let feed = ChangeFeed(configuration)
    var first = try feed.open(Self.request()).makeAsyncIterator()
    let position = Self.position(in: Self.text(await first.next()))
    feed.publish([.url("/1")])
    feed.publish([.url("/2")], to: .init("admins"))
    feed.publish([.url("/3")])
    var second = try feed.open(Self.request(position)).makeAsyncIterator()
    let hello = Self.text(await second.next())
    #expect(hello.contains("\"resumed\":true"))
    let missed = Self.text(await second.next())
    #expect(missed.contains("/1") && missed.contains("/3") && !missed.contains("/2"))
  }

  @Test func `a client that missed only what is for others is told at once where it is`() async throws {
    let feed = ChangeFeed(configuration)
    var first = try feed.open(Self.request()).makeAsyncIterator()
    let position = Self.position(in: Self.text(await first.next()))
    feed.publish([.url("/2")], to: .init("admins"))
    var second = try feed.open(Self.request(position)).makeAsyncIterator()
    _ = await second.next()
    let place = Self.text(await second.next())
    #expect(place.hasPrefix("id: ") && place.hasSuffix(".1\n\n"))
  }

  @Test(arguments: ["other.1", "1", "", ".", "x.18446744073709551616", "é.2"])
  func `a place that the feed does not know is greeted as a new one`(_ position: String) async throws {
    let feed = ChangeFeed(configuration)
    feed.publish([.all])
    var client = try feed.open(Self.request(position)).makeAsyncIterator()
    #expect(Self.text(await client.next()).contains("\"resumed\":false"))
  }

  @Test func `a client that the list has overtaken is told that it may have missed something`() async throws {
    var configuration = configuration
    configuration.changes = 5
    let feed = ChangeFeed(configuration)
    var client = try feed.open(Self.request()).makeAsyncIterator()
    let position = Self.position(in: Self.text(await client.next()))
    for number in 0..<6 { feed.publish([.url("/\(number)")]) }
    let reset = Self.text(await client.next())
    #expect(reset.hasPrefix("event: reset\nid: "))
    #expect(Self.position(in: reset).hasSuffix(".6"))
    var late = try feed.open(Self.request(position)).makeAsyncIterator()
    #expect(Self.text(await late.next()).contains("\"resumed\":false"))
    feed.reset()
    #expect(Self.text(await client.next()).hasPrefix("event: reset"))
    for number in 7..<20 {
      feed.publish([.url("/\(number)")])
      #expect(Self.text(await client.next()).contains("\"/\(number)\""))
    }
  }

  @Test func `a quiet client hears its place at each heartbeat, and the events of others move it`() async throws {
    let feed = ChangeFeed(configuration)
    let stream = try feed.open(Self.request())
    let pieces = Shared<[String]>([])
    let reader = Task {
      for await piece in stream { pieces.change { $0.append(Self.text(piece)) } }
    }
    while feed.waiting == 0 { await Task.yield() }
    feed.publish([.all], to: .init("admins"))
    while pieces.value.count < 2 {
      clock.advance(by: .seconds(1))
      await Task.yield()
    }
    #expect(pieces.value.last?.hasPrefix("id: ") == true)
    #expect(Self.position(in: pieces.value.last ?? "").hasSuffix(".1"))
    reader.cancel()
    await reader.value
  }

  @Test func `a stream ends with a farewell when its time is over, and when the server goes`() async throws {
    let feed = ChangeFeed(configuration)
    var short = try feed.open(Self.request(), lifetime: .seconds(60)).makeAsyncIterator()
    _ = await short.next()
    clock.advance(by: .seconds(60))
    // Its rights may have ended with it.
    feed.publish([.url("/late")])
    #expect(Self.text(await short.next()).hasPrefix("event: bye"))
    let end = await short.next()
    #expect(end == nil)
    var client = try feed.open(Self.request()).makeAsyncIterator()
    _ = await client.next()
    feed.publish([.url("/last")])
    feed.shutdown()
    let last = Self.text(await client.next())
    #expect(last.contains("/last"))
    #expect(last.hasSuffix("event: bye\ndata: {}\n\n"))
  }

  @Test func `clients are counted until their streams are released, and no more are taken than permitted`() async throws
  {
    var configuration = configuration
    configuration.clients = 2
    let feed = ChangeFeed(configuration)
    var streams = try (0..<2).map { _ in try feed.open(Self.request()) }
    #expect(feed.clients == 2)
    #expect(throws: ChangeFeedError.tooManyClients(limit: 2)) { try feed.open(Self.request()) }
    streams.removeLast()
    #expect(feed.clients == 1)
    let another = try feed.open(Self.request())
    #expect(feed.clients == 2)
    withExtendedLifetime((streams, another)) {}
  }

  @Test func `a change of more targets than an event may have is a change of everything`() async throws {
    let feed = ChangeFeed(configuration)
    var client = try feed.open(Self.request()).makeAsyncIterator()
    _ = await client.next()
    feed.publish((0..<12_000).map { .url("/posts/\($0)") })
    #expect(Self.text(await client.next()).contains(#"{"changes":[{"all":true}]}"#))
  }

  @Test func `with many clients, a change is spread over the time that they take together`() async throws {
    var configuration = configuration
    configuration.refetchRate = 1
    let feed = ChangeFeed(configuration)
    var streams = try (0..<4).map { _ in try feed.open(Self.request()).makeAsyncIterator() }
    _ = await streams[0].next()
    feed.publish([.url("/1")])
    #expect(Self.text(await streams[0].next()).contains("\"spread\":4000"))
  }

  @Test(arguments: [
    ("/a\"b\\c", #""/a\"b\\c""#), ("\n\r\t\u{0}", #""\u000a\u000d\u0009\u0000""#),
    ("\u{2028}\u{2029}\u{7F}", #""\u2028\u2029\u007f""#),
    ("é🙂", "\"é🙂\""), ("\r\n", #""\u000d\u000a""#),
  ])
  func `a target with any character is one line of JSON`(_ text: String, _ json: String) throws {
    #expect(ChangeEncoding.quoted(text) == json)
    let data = ChangeEncoding.data(of: [.url(text)])
    #expect(!data.utf8.contains { $0 == 10 || $0 == 13 })
    #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(data.utf8)) }
  }

  @Test func `a change carries tags, values and the id of its write, and no value where that is too long`() async throws
  {
    let feed = ChangeFeed(configuration)
    var client = try feed.open(Self.request()).makeAsyncIterator()
    _ = await client.next()
    feed.publish(
      [
        .url("/posts/7", etag: "\"v9\""), .value("/posts/8", body: "{\"a\":\n1}", from: "\"v1\"", etag: "\"v2\""),
        .merge("/posts/9", patch: "{}", from: "\"v3\"", etag: "\"v4\""), .under("/feeds"),
      ], by: "5f0c")
    let event = Self.text(await client.next())
    #expect(
      event.contains(
        #"{"url":"/posts/7","etag":"\"v9\"","by":"5f0c"},{"url":"/posts/8","from":"\"v1\"","etag":"\"v2\"","value":"{\"a\":\u000a1}","by":"5f0c"},{"url":"/posts/9","from":"\"v3\"","etag":"\"v4\"","merge":"{}","by":"5f0c"},{"under":"/feeds","by":"5f0c"}"#
      ), "\(event)")
    feed.publish(
      [.value("/posts/8", body: String(repeating: "x", count: 70_000), from: "\"v2\"", etag: "\"v3\"")], by: "a b")
    let long = Self.text(await client.next())
    #expect(long.contains(#"{"changes":[{"url":"/posts/8","etag":"\"v3\""}]}"#), "\(long.prefix(200))")
    var write = Self.request()
    if let name = HTTPField.Name("Change-Id") { write.headerFields[name] = "5f0c" }
    #expect(write.changeID == "5f0c")
  }
}
