import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// Follows the redirects that a script answers with.
private struct Following: Transport {
  let script: ScriptedTransport

  init(_ script: @escaping ScriptedTransport.Handler) { self.script = ScriptedTransport(handler: script) }

  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    try await Redirect.following(request, body: body, limit: 5) {
      try await script.send($0, body: $1, progress: progress)
    }
  }
}

/// Responses that answer for other queries of their path (`No-Vary-Search`), in a model layer.
/// Rules.md has the rows that a proxy shares.
@Suite("An equivalent response", .timeLimit(.minutes(5)))
struct NoVarySearchTests {
  static let name = HTTPField.Name("No-Vary-Search") ?? .vary

  private static func fields(_ control: String, _ rule: String? = #"params=("u")"#) -> HTTPFields {
    var fields: HTTPFields = [.cacheControl: control, .eTag: "\"a\""]
    fields[name] = rule
    return fields
  }

  /// A server that answers each request with its number, and changes with another status.
  private func bench(
    _ control: String = "max-age=60", rule: @escaping @Sendable (Int) -> String? = { _ in #"params=("u")"# }
  ) -> Bench {
    let count = Shared(0)
    return Bench(
      transport: ScriptedTransport { request, _ in
        guard request.method == .get else { return .json(Note(0, "changed").json) }
        let number = count.change {
          $0 += 1; return $0
        }
        return .json(Note(number, "text").json, headers: Self.fields(control, rule(number)))
      })
  }

  private func notes(in bench: Bench) async throws -> [String] {
    try await bench.persistence?.entries(in: nil, url: nil).map(\.key.identity).filter { $0.hasSuffix(":search") } ?? []
  }

  @Test func `is used for another key, which is in memory then`() async throws {
    let bench = bench()
    #expect(try await bench.notes.fetch("p?i=7&u=1").id == 1)
    bench.clock.advance(by: .seconds(59))
    #expect(try await bench.notes.fetch("p?i=7&u=2").id == 1)
    let events = bench.log.events.filter { $0.key.url.hasSuffix("u=2") }
    #expect(events.map(\.kind.name) == [.memoryMiss, .equivalentHit, .parsed, .persistenceHit])
    #expect(events.contains { "\($0)" == "equivalent of GET \(Bench.url)/p?i=7&u=1 GET \(Bench.url)/p?i=7&u=2" })
    #expect(try await bench.notes.fetch("p?i=7&u=2").id == 1)
    #expect(bench.log.count(.memoryHit) == 1 && bench.transport.requestCount == 1)
    #expect(try await bench.notes.fetch("p?i=8&u=2").id == 2)
  }

  @Test func `is found after a restart, and not stored twice`() async throws {
    let bench = bench()
    _ = try await bench.notes.fetch("p?u=1")
    let other = bench.restarted()
    #expect(try await other.notes.fetch("p?u=2").id == 1)
    #expect(try await other.notes.fetch("p").id == 1)
    #expect(bench.transport.requestCount == 1)
    let keys = try await bench.persistence?.entries(in: nil, url: nil).map(\.key.url)
    #expect(keys?.sorted() == ["p", "p?", "p?u=1"].map { "\(Bench.url)/\($0)" })
  }

  @Test func `is not validated when it is stale, and stands in for a failure`() async throws {
    let bench = bench("max-age=60, stale-if-error=60")
    _ = try await bench.notes.fetch("p?u=1")
    bench.clock.advance(by: .seconds(61))
    let down = Bench(
      persistence: bench.persistence, clock: bench.clock,
      transport: ScriptedTransport { _, _ in .response(.serviceUnavailable) })
    #expect(try await down.notes.fetch("p?u=2").id == 1)
    #expect(down.transport.requests.map { $0.request.headerFields[.ifNoneMatch] } == [nil])
    #expect(try await bench.restarted().notes.fetch("p?u=2").id == 2)
    #expect(bench.transport.requests.last?.request.headerFields[.ifNoneMatch] == nil)
  }

  @Test func `lends no validator once it is in memory`() async throws {
    let bench = bench()
    for path: Resource in ["p?u=1", "p?u=2"] { _ = try await bench.notes.fetch(path) }
    bench.clock.advance(by: .seconds(61))
    #expect(try await bench.notes.fetch("p?u=2").id == 2)
    #expect(bench.log.count(.request) == 2)
    #expect(bench.transport.requests.last?.request.headerFields[.ifNoneMatch] == nil)
  }

  @Test func `is stale after a change of any equivalent URL, in memory and on disk`() async throws {
    let bench = bench()
    for path: Resource in ["p?u=1", "p?u=2", "p?i=7&u=1"] { _ = try await bench.notes.fetch(path) }
    bench.clock.advance(by: .seconds(1))
    _ = try await bench.notes.send(Resource("p?u=9", method: .post))
    bench.clock.advance(by: .seconds(1))
    #expect(try await bench.restarted().notes.fetch("p?u=3").id == 3)
    #expect(try await bench.notes.fetch("p?u=2").id == 3)
    #expect(try await bench.notes.fetch("p?i=7&u=1").id == 2)
    #expect(try await bench.restarted().notes.fetch("p?u=1").id == 3)
    #expect(bench.transport.requests.count { $0.request.method == .get } == 3)
  }

  @Test func `that was requested before a change is no news after it`() async throws {
    let gate = Gate()
    let count = Shared(0)
    let bench = Bench(
      transport: ScriptedTransport { request, _ in
        guard request.method == .get else { return .json(Note(0, "changed").json) }
        let number = count.change {
          $0 += 1; return $0
        }
        let answer = ScriptedTransport.Answer.json(Note(number, "text").json, headers: Self.fields("max-age=60"))
        return number == 2 ? answer.held(at: gate) : answer
      }, except: [.concurrentRequests])
    _ = try await bench.notes.fetch("p?i=1&u=1")
    async let late = bench.notes.fetch("p?u=2")
    try await bench.transport.waitForRequests(count: 2)
    _ = try await bench.notes.send(Resource("p?u=1", method: .post))
    gate.open()
    #expect(try await late.id == 3)
    // By the clock, the third was requested at the time of the change: it may be from before it.
    #expect(try await bench.restarted().notes.fetch("p?u=4").id == 4)
  }

  @Test func `is stale after an invalidation of its key`() async throws {
    let bench = bench()
    for path: Resource in ["p?u=1", "p?u=2"] { _ = try await bench.notes.fetch(path) }
    await bench.notes.invalidate("p?u=2")
    #expect(try await bench.restarted().notes.fetch("p?u=3").id == 2)
  }

  @Test func `is gone with its record, and with everything of its scope`() async throws {
    let bench = bench()
    _ = try await bench.notes.fetch("p?u=1")
    try await bench.notes.remove("p?u=1")
    #expect(try await notes(in: bench).count == 1)
    #expect(try await bench.notes.fetch("p?u=2").id == 2)
    try await bench.layer.removeAll()
    #expect(try await notes(in: bench).isEmpty)
    #expect(try await bench.notes.fetch("p?u=3").id == 3)
  }

  @Test func `that the store has lost is a miss, and its alias is removed`() async throws {
    let bench = bench()
    _ = try await bench.notes.fetch("p?u=1")
    let key = try #require(
      await bench.persistence?.entries(in: nil, url: nil).map(\.key)
        .first { $0.url.hasSuffix("p?u=1") })
    try await bench.persistence?.remove(key)
    let other = Bench(
      persistence: bench.persistence, clock: bench.clock, transport: ScriptedTransport { _, _ in .response(.notFound) })
    _ = await error { try await other.notes.fetch("p?u=2") }
    #expect(try await notes(in: bench).count == 1)
  }

  @Test func `costs one alias for each record, however often the rule changes`() async throws {
    let bench = bench("max-age=60") { #"params=("u" "x\#($0)"), key-order"# }
    for _ in 0..<20 {
      for path: Resource in ["p?u=1&x1=1&x2=2&x3=3&x4=4&x5=5&x6=6", "p?x7=7&x8=8&x9=9"] {
        _ = try await bench.notes.fetch(path, policy: .networkOnly)
      }
    }
    #expect(try await notes(in: bench).count == 3)
  }

  @Test func `does not replace a value of this program, and is not made from one`() async throws {
    let bench = bench()
    try await bench.notes.save(Note(9, "own"), for: "p?u=2")
    bench.clock.advance(by: .seconds(1))
    #expect(try await bench.notes.fetch("p?u=1").id == 1)
    #expect(try await bench.restarted().notes.fetch("p?u=2", policy: .cacheOnly).id == 9)
    try await bench.notes.save(Note(8, "own"), for: "p?u=1")
    #expect(try await bench.restarted().notes.fetch("p?u=3").id == 2)
  }

  @Test func `is of the same identity fields and of the variant that the request selects`() async throws {
    let bench = bench()
    func resource(_ path: Resource.Path, _ language: String) -> Resource {
      var resource = Resource(path, headers: [.acceptLanguage: language])
      resource.identityHeaders = [.acceptLanguage]
      return resource
    }
    #expect(try await bench.notes.fetch(resource("p?u=1", "de")).id == 1)
    #expect(try await bench.notes.fetch(resource("p?u=2", "en")).id == 2)
    #expect(try await bench.notes.fetch(resource("p?u=2", "de")).id == 1)
  }

  @Test func `is none by the rule of a response that was redirected`() async throws {
    let bench = bench()
    let layer = ModelLayer(
      baseURL: Bench.url,
      transport: Following { request, _ in
        if request.path?.hasSuffix("/there") == true {
          return .json(Note(1, "text").json, headers: Self.fields("max-age=60", "except=()"))
        }
        return .response(.movedPermanently, fields: [.location: "/v1/there", .cacheControl: "max-age=60"])
      }, persistence: bench.persistence, reachability: .always)
    let log = EventRecorder(layer)
    for path: Resource in ["p?user=1", "p?user=2"] { _ = try await layer.reactor(Note.self).fetch(path) }
    #expect(log.count(.equivalentHit) == 0 && log.count(.request) == 2)
    #expect(try await notes(in: bench).isEmpty)
  }
}
