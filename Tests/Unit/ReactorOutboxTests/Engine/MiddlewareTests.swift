import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox
import ReactorTesting
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Middlewares around the transport: they answer, fail, send by themselves and send again.
@Suite("A write and its middlewares", .timeLimit(.minutes(1)))
struct MiddlewareTests {
  private struct Reason: Error {}

  private func writer(
    _ answers: ScriptedTransport.Answer..., window: Duration = .zero, followsRedirects: Bool = false,
    _ body: @escaping Middleware.Body
  ) -> Writer {
    let writer = Writer(authentication: Middleware(body: body), followsRedirects: followsRedirects) {
      $0.idempotencyWindow = window
    }
    // The last one is repeated.
    for answer in answers { writer.transport.answer("/v1/b", with: answer) }
    return writer
  }

  @Test(arguments: [
    (ReactorError.server(HTTPResponse(status: .unprocessableContent), body: Data()), "refused"),
    (.authentication(Reason()), "waiting, sign in"), (.network(Reason()), "unresolved"),
  ])
  func `that do not take a success for one leave no acceptance`(error: ReactorError, state: String) async throws {
    let writer = writer(.json("{}")) { request, body, next in
      _ = try await next(request, body)
      throw error
    }
    _ = try await writer.layer.submit(Add(name: "b"))
    await writer.wait(for: state)
  }

  @Test func `a write and its middlewares that fail before the transport do not refuse the queue`() async throws {
    let isLocked = Shared(true)
    let writer = writer(accepted, window: .seconds(3_600)) { request, body, next in
      if isLocked.value { throw Reason() }
      return try await next(request, body)
    }
    let submission = try await writer.layer.submit(Add(name: "b"))
    await writer.wait(for: "unknown, backoff")
    isLocked.change { $0 = false }
    writer.clock.advance(by: .seconds(600))
    _ = try await submission.answer()
  }

  @Test func `a write and its middlewares that send by themselves leave a doubt, and no second request`() async throws {
    let writer = writer(accepted) { request, body, next in
      if request.method == .post { throw URLError(.timedOut) }
      return try await next(request, body)
    }
    _ = try await writer.layer.submit(Add(name: "b"))
    await writer.wait(for: "unresolved")
  }

  @Test func `middlewares that retry after a timeout without connecting leave a doubt`() async throws {
    let writer = Writer(
      authentication: Middleware { request, body, next in
        do { return try await next(request, body) } catch { return try await next(request, body) }
      }
    ) { $0.idempotencyWindow = .zero }
    writer.transport.answer(
      "/v1/b", with: .failure(URLError(.timedOut)), .failure(URLError(.cannotConnectToHost)), accepted)
    _ = try await writer.layer.submit(Add(name: "b"))
    await writer.wait(for: "unresolved")
    #expect(writer.sent.count == 2)
  }

  @Test(arguments: [
    (302, HTTPResponse.Status.created, nil), (302, .serviceUnavailable, "waiting, backoff"),
    (303, .unprocessableContent, "refused"),
  ])
  func `a write and its middlewares that sign in at a page and ask again get what the second answer says`(
    redirect: Int, second: HTTPResponse.Status, state: String?
  ) async throws {
    let writer = Writer(
      authentication: Middleware { request, body, next in
        let answer = try await next(request, body)
        guard answer.0.headerFields[.contentType]?.contains("html") == true else { return answer }
        return try await next(request, body)
      }, followsRedirects: true)
    writer.transport.answer(
      "/v1/b", with: .response(.init(code: redirect), fields: [.location: "https://sso.example/v1/login"]),
      .response(second), accepted)
    writer.transport.answer(
      "/v1/login", with: .response(.ok, fields: [.contentType: "text/html"], body: Data("<html>".utf8)))
    let submission = try await writer.layer.submit(Add(name: "b"))
    if let state { await writer.wait(for: state) } else { _ = try await submission.answer() }
  }

  @Test func `a created page is an acceptance`() async throws {
    let writer = Writer()
    let page = Data("<!DOCTYPE html><p>Created".utf8)
    writer.transport.answer(
      "/v1/b", with: .response(.created, fields: [.contentType: "text/html", .location: "/v1/b/1"], body: page))
    _ = await TestSupport.error { try await writer.layer.submit(Add(name: "b")).answer() }
    #expect(writer.states.isEmpty)
  }

  @Test func `a middleware that awaits a later write of the lane gets an error`() async throws {
    let layers = Shared<ModelLayer?>(nil)
    let writer = writer(accepted) { request, body, next in
      if request.path == "/v1/b", let layer = layers.value {
        _ = try await layer.submit(Add(name: "inner")).answer()
      }
      return try await next(request, body)
    }
    layers.change { $0 = writer.layer }
    writer.transport.answer("/v1/inner", with: accepted)
    let error = await TestSupport.error { try await writer.layer.submit(Add(name: "b")).answer() }
    layers.change { $0 = nil }
    guard case .network(MutationError.awaitsItsLane) = error else {
      return #expect(Bool(false), "\(String(describing: error))")
    }
  }
}

/// Observers whose tasks await writes, and writes that have ended.
@Suite("Tasks that await a write", .timeLimit(.minutes(1)))
struct AwaitingTaskTests {
  @Test func `tasks of an observer are awaited by no write, so that they get the answer`() async throws {
    let writer = Writer()
    let layer = writer.layer
    writer.transport.answer("/v1/one", with: accepted)
    writer.transport.answer("/v1/two", with: accepted)
    let (outcomes, outcome) = AsyncStream.makeStream(of: ReactorError?.self)
    let isFirst = Shared(true)
    let token = layer.observeEvents { event in
      guard case .outbox(_, .accepted) = event.kind, isFirst.value else { return }
      isFirst.change { $0 = false }
      Task { outcome.yield(await TestSupport.error { try await layer.submit(Add(name: "two")).answer() }) }
    }
    _ = try await layer.submit(Add(name: "one")).answer()
    for await error in outcomes {
      #expect(error == nil || error?.isParser == true, "\(String(describing: error))")
      break
    }
    token.cancel()
  }

  @Test func `of an observer enter no key that a step holds which awaits the write`() async throws {
    let writer = Writer()
    let layer = writer.layer
    let gate = Gate()
    writer.transport.answer("/v1/b", with: accepted.held(at: gate))
    let (inside, most, isObserved) = (Shared(0), Shared(0), Shared(false))
    var flow = layer.flow([String].self)
    flow.saveToPersistence = { snapshot, _ in
      inside.change { $0 += 1 }
      let count = inside.value
      most.change { $0 = max($0, count) }
      if snapshot.model == ["outer"] { _ = try await layer.submit(Add(name: "b", list: "other")).answer() }
      inside.change { $0 -= 1 }
    }
    let reactor = Reactor(flow: flow)
    let list = writer.list
    let inner = Shared<Task<Void, any Error>?>(nil)
    let token = layer.observeEvents { event in
      guard case .outbox(_, .sending) = event.kind, !isObserved.value else { return }
      isObserved.change { $0 = true }
      inner.change { $0 = Task { try await reactor.save(["inner"], for: list) } }
    }
    let outer = Task { try await reactor.save(["outer"], for: list) }
    try await gate.waitForArrival()
    gate.open()
    _ = await outer.result
    _ = await inner.value?.result
    token.cancel()
    #expect(most.value == 1)
  }

  @Test func `that has ended get its end, also in the request of a later one of the lane`() async throws {
    let writer = Writer { $0.mutations.append(Later.self) }
    writer.transport.answer("/v1/one", with: .json("\"1\""))
    writer.transport.answer("/v1/later", with: accepted)
    let one = try await writer.layer.submit(Add(name: "one"))
    Later.body.change { $0 = { _ = try await one.answer() } }
    _ = try await writer.layer.submit(Later()).answer()
  }

  /// The turn of the lane is the same for all entries that it has at once.
  @Test func `hold the turn of the lane, however long the arguments take to encode`() async throws {
    let writer = Writer()
    let layer = writer.layer
    writer.transport.answer("/v1/one", with: accepted)
    writer.transport.answer("/v1/two", with: accepted)
    var flow = layer.flow([String].self)
    flow.saveToPersistence = { _, _ in
      try await layer.submit(Add(name: "one"))
      let list = String(repeating: "x", count: 200_000)
      _ = await TestSupport.error { try await layer.submit(Add(name: "two", list: list)).answer() }
    }
    let reactor = Reactor(flow: flow)
    for _ in 0..<30 { try await reactor.save(["a"], for: writer.list) }
  }
}

/// Several processes, and what each knows of the other's entries.
@Suite("The numbers of a store", .timeLimit(.minutes(5)))
struct StoreNumberTests {
  @Test func `begin again after everything was removed, and order the entries of two processes`() async throws {
    let store = MemoryStore()
    let other = Writer(storage: store) { $0.mutations.append(Later.self) }
    try await other.outbox.reload()
    other.outbox.pause()
    for number in 0..<10 { try await other.layer.submit(Add(name: "old\(number)")) }
    try await other.layer.removeAll()
    other.outbox.resume()
    let one = Writer(storage: store.reopened(), on: other.bench) { $0.sendsByItself = false }
    try await one.outbox.reload()
    try await one.layer.submit(Add(name: "1"))
    one.transport.answer("/v1/1", with: accepted)
    one.transport.answer("/v1/2", with: accepted)
    _ = await TestSupport.error { try await other.layer.submit(Add(name: "2")).answer() }
    #expect(other.sent == ["POST /v1/1 1", "POST /v1/2 2"])
  }

  @Test func `of two processes that submit in turns hold up neither`() async throws {
    let store = MemoryStore()
    let one = Writer(storage: store)
    let two = Writer(storage: store.reopened(), on: one.bench) { $0.sendsByItself = false }
    try await one.outbox.reload()
    try await two.outbox.reload()
    for number in 0..<50 {
      one.transport.answer("/v1/\(number)", with: accepted)
      two.transport.answer("/v1/other\(number)", with: accepted)
      async let submitted = two.layer.submit(Add(name: "other\(number)", lane: "two"))
      _ = await TestSupport.error { try await one.layer.submit(Add(name: "\(number)", lane: "one")).answer() }
      _ = try await submitted
    }
    #expect(one.sent.filter { !$0.contains("other") }.count == 50)
  }

  @Test func `the numbers of a store are not read while a removal waits`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store)
    writer.transport.answer("/v1/1", with: accepted)
    _ = await TestSupport.error { try await writer.layer.submit(Add(name: "1")).answer() }
    let layer = writer.layer
    let gate = Gate()
    let (step, removal) = try await writer.removalThatWaits(at: gate)
    store.readsLeft.store(1_000, ordering: .relaxed)
    for number in 0..<10 { try await layer.submit(Add(name: "later\(number)")) }
    gate.open()
    _ = await (step.result, removal.result)
    #expect(store.readsLeft.load(ordering: .relaxed) > 900)
  }

  @Test func `numbers of accepted entries are distinguished from the withdrawn ones of another process`() async throws {
    let store = MemoryStore()
    let one = Writer(storage: store) { $0.sendsByItself = false }
    try await one.fetch("a")
    one.transport.answer("/v1/list", with: .failure(URLError(.timedOut)))
    var ids: [UUID] = []
    for number in 0..<110 {
      one.transport.answer("/v1/\(number)", with: accepted)
      ids.append(try await one.layer.submit(Add(name: "\(number)")).id)
    }
    let other = Writer(storage: store.reopened(), on: one.bench) { $0.sendsByItself = false }
    try await other.outbox.reload()
    #expect(await other.outbox.withdraw(ids[0]))
    #expect(await other.outbox.drain(within: .seconds(100)) == 0)
    try await one.outbox.reload()
    // The accepted ones, although the other process keeps a hundred of them.
    #expect(one.shown?.count == 110 && one.shown?.contains("0") == false)
  }
}

private struct Middleware: TransportMiddleware {
  typealias Body = @Sendable (HTTPRequest, Data?, TransportMiddleware.Next) async throws -> (HTTPResponse, Data)

  let body: Body

  func intercept(
    _ request: HTTPRequest, body data: Data?, next: TransportMiddleware.Next
  ) async throws -> (HTTPResponse, Data) {
    try await body(request, data, next)
  }
}

/// A mutation whose request awaits something.
private struct Later: Mutation {
  static let body = Shared<@Sendable () async throws -> Void>({})

  func request(_ known: Known) async throws -> Resource {
    try await Self.body.value()
    return Resource("later", method: .post)
  }
}

extension ReactorError {
  fileprivate var isParser: Bool { if case .parser = self { true } else { false } }
}
