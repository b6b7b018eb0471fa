import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox
import ReactorTesting
import TestSupport
import Testing

/// Its request has the same key whatever its name is.
private struct Keyed: Mutation {
  var name: String
  var lane: Lane

  func request(_ known: Known) throws -> Resource {
    var resource = Resource(name, method: .post)
    resource.idempotencyKey = "k1"
    return resource
  }

  func draft(_ drafts: inout Drafts) {}
}

@Suite("A request without a mutation", .timeLimit(.minutes(5)))
struct OutboxRequestTests {
  private static let target = "https://other.example.com/a%2Fb?q=1"

  private func request(_ url: String = target, method: HTTPRequest.Method = .post) throws -> OutboxRequest {
    OutboxRequest(method: method, url: try #require(URL(string: url)), body: Data("body".utf8))
  }

  @Test func `a request of the outbox is sent unchanged to its own URL, and its answer is the body`() async throws {
    let writer = Writer()
    writer.transport.answer("/a%2Fb", with: .json("[1]"))
    var request = try request(Self.target + "#top")
    request.headerFields = [.contentType: "text/plain"]
    let submission = try await writer.layer.submit(request)
    #expect(try await submission.answer() == Data("[1]".utf8))
    let sent = try #require(writer.transport.requests.first)
    #expect(sent.request.absoluteURL == Self.target && sent.request.method == .post)
    #expect(sent.body == Data("body".utf8) && sent.request.headerFields[.contentType] == "text/plain")
    #expect(writer.keys.count == 1 && writer.keys[0] != nil)
    try await writer.end()
  }

  @Test func `a request of the outbox is listed with its method and URL, also after a restart`() async throws {
    let writer = Writer(storage: MemoryStore()) { $0.sendsByItself = false }
    try await writer.layer.submit(try request(), lane: "uploads")
    let next = writer.relaunched { $0.sendsByItself = false }
    try await next.outbox.reload()
    for entry in [try #require(writer.outbox.entries.first), try #require(next.outbox.entries.first)] {
      #expect(entry.method == .post && entry.url == Self.target && entry.lane == "uploads" && entry.mutation == nil)
    }
    try await writer.end()
  }

  @Test(arguments: [
    "https://other.example.com/?access_token=s3cret", "https://user:s3cret@other.example.com/", "ftp://h/", "file:///a",
    "a/b",
  ])
  func `a URL with a secret, or of no server, is refused, and nothing is saved`(url: String) async throws {
    let writer = Writer(storage: MemoryStore())
    let request = try request(url)
    let error = await TestSupport.error { try await writer.layer.submit(request) }
    guard case .invalidResource(let reason) = error else { return #expect(Bool(false), "\(String(describing: error))") }
    #expect(!reason.contains("s3cret"))
    #expect(try await writer.storage.contents(of: .shared).entries.isEmpty)
    try await writer.end()
  }

  @Test(arguments: ["Authorization", "proxy-authorization", "Cookie", "Host", "Content-Length"])
  func `a field with a secret, or of the transport, is refused, and nothing is saved`(name: String) async throws {
    let writer = Writer(storage: MemoryStore())
    var request = try request()
    request.headerFields[try #require(HTTPField.Name(name))] = "s3cret"
    let made = request
    let error = await TestSupport.error { try await writer.layer.submit(made) }
    #expect(error.map { !"\($0)".contains("s3cret") } == true)
    #expect(try await writer.storage.contents(of: .shared).entries.isEmpty)
    try await writer.end()
  }

  private func keyed(_ key: String, _ body: String, url: String = target, method: HTTPRequest.Method = .post) throws
    -> OutboxRequest
  {
    var request = try request(url, method: method)
    request.headerFields[try #require(HTTPField.Name("Idempotency-Key"))] = key
    request.body = Data(body.utf8)
    return request
  }

  @Test func `a key that another entry has for other bytes is refused, and nothing is saved`() async throws {
    let writer = Writer(storage: MemoryStore())
    writer.outbox.pause()
    try await writer.layer.submit(try keyed("k1", "one"))
    let others = [
      try keyed("k1", "two"), try keyed("k1", "one", url: Self.target + "0"), try keyed("k1", "one", method: .patch),
    ]
    // The second process has read the key from the store.
    for program in [writer, writer.relaunched { $0.sendsByItself = false }] {
      for other in others {
        let error = await TestSupport.error { try await program.layer.submit(other, lane: "another") }
        guard case .invalidResource(let reason) = error else {
          return #expect(Bool(false), "\(String(describing: error))")
        }
        #expect(reason.contains("idempotency key") && !reason.contains("k1"))
      }
      try await program.layer.submit(try keyed("k1", "one"))
      try await program.layer.submit(try keyed("k\(program.outbox.entries.count)", "two"))
    }
    #expect(try await writer.storage.contents(of: .shared).entries.count == 5)
  }

  @Test func `of two concurrent requests under one key, one is refused`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store)
    writer.outbox.pause()
    try await writer.outbox.reload()
    store.commits.close()
    async let first = TestSupport.error { try await writer.layer.submit(try keyed("k1", "one")) }
    try await store.commits.waitForArrival()
    let second = try keyed("k1", "two")
    #expect(await TestSupport.error { try await writer.layer.submit(second) } != nil)
    store.commits.open()
    #expect(await first == nil)
    #expect(try await store.contents(of: .shared).entries.count == 1)
  }

  @Test func `a mutation whose request has the key of another is refused`() async throws {
    let writer = Writer(storage: MemoryStore()) { $0.mutations = [Keyed.self] }
    writer.transport.answer("/v1/a", with: .response(.serviceUnavailable))
    let first = try await writer.layer.submit(Keyed(name: "a", lane: "1"))
    await writer.wait(for: "waiting, backoff")
    let second = try await writer.layer.submit(Keyed(name: "b", lane: "2"))
    let error = await TestSupport.error { try await second.answer() }
    guard case .invalidResource = error else { return #expect(Bool(false), "\(String(describing: error))") }
    #expect(writer.sent == ["POST /v1/a "])
    #expect(await writer.outbox.withdraw(first.id) == false)
    await writer.outbox.stop()
  }

  @Test(arguments: [HTTPRequest.Method.get, .head])
  func `a method that only reads is refused`(method: HTTPRequest.Method) async throws {
    let writer = Writer()
    let request = try request(method: method)
    #expect(await TestSupport.error { try await writer.layer.submit(request) } != nil)
    try await writer.end()
  }

  @Test func `a body has at most 1 MiB`() async throws {
    let writer = Writer(storage: MemoryStore()) { $0.sendsByItself = false }
    var request = try request()
    request.body = Data(count: OutboxRequest.bodyLimit)
    try await writer.layer.submit(request)
    request.body = Data(count: OutboxRequest.bodyLimit + 1)
    let tooLarge = request
    #expect(await TestSupport.error { try await writer.layer.submit(tooLarge) } != nil)
    #expect(writer.outbox.entries.count == 1)
    try await writer.end()
  }

  @Test func `a key in the request is sent with every attempt, whatever the method`() async throws {
    let writer = Writer()
    writer.transport.answer("/a%2Fb", with: .response(.serviceUnavailable), accepted)
    var request = try request(method: .put)
    request.idempotencyKey = "mine"
    let submission = try await writer.layer.submit(request)
    try await writer.clock.waitForSleepers()
    writer.clock.advance(by: .seconds(60))
    _ = try await submission.answer()
    #expect(writer.keys == ["mine", "mine"])
    try await writer.end()
  }

  @Test func `a key among its fields is its key`() async throws {
    let writer = Writer()
    writer.transport.answer("/a%2Fb", with: accepted)
    var request = try request()
    let name = try #require(HTTPField.Name("idempotency-key"))
    request.headerFields[name] = "mine"
    _ = try await writer.layer.submit(request).answer()
    #expect(writer.keys == ["mine"])
    try await writer.end()
  }

  @Test(arguments: [["1", "2"], [""]]) func `two keys, or an empty one, are refused`(keys: [String]) async throws {
    let writer = Writer()
    var request = try request()
    let name = try #require(HTTPField.Name("Idempotency-Key"))
    for key in keys { request.headerFields.append(HTTPField(name: name, value: key)) }
    let made = request
    #expect(await TestSupport.error { try await writer.layer.submit(made) } != nil)
    try await writer.end()
  }

  @Test func `without a window it has no key, and an unknown outcome leaves it unresolved`() async throws {
    let writer = Writer(storage: MemoryStore())
    writer.transport.answer("/a%2Fb", with: .failure(URLError(.networkConnectionLost)))
    let submission = try await writer.layer.submit(try request(), idempotencyWindow: .zero)
    #expect(await TestSupport.error { try await submission.answer() } != nil)
    #expect(writer.states == ["unresolved"] && writer.keys == [nil])
    try await writer.end()
  }
}
