import Foundation
import HTTPTypes
import ReactorCore
import ReactorMiddleware
import ReactorTesting
import TestSupport
import Testing

/// Requests that are refused at the same time. Everything runs on an executor that runs only when
/// it is told to, and until nothing can continue: so who waits for what is known at each step.
@Suite("Races of sign-in", .timeLimit(.minutes(5)))
struct AuthenticationRaceTests {
  private let executor = SteppedExecutor()
  private let transport = ScriptedTransport()
  private let authenticator: TokenAuthenticator
  private let backend: Backend

  init() {
    authenticator = TokenAuthenticator()
    authenticator.gate.close()
    backend = Backend(
      baseURL: Bench.url, transport: transport,
      authentication: AuthenticationMiddleware(
        authenticator, credential: "1", origins: [Bench.url], taskExecutor: executor))
  }

  /// Begins a request; its status is the task's value.
  private func send(_ path: String) -> Task<Int, any Error> {
    let backend = backend
    let task = Task(executorPreference: executor) {
      try await backend.send(
        HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: path), body: nil
      ).0.status.code
    }
    executor.run()
    return task
  }

  private func open(_ gate: Gate) {
    gate.open()
    executor.run()
  }

  private func cancel<Value>(_ task: Task<Value, any Error>) {
    task.cancel()
    executor.run()
  }

  /// 401, held; then 200.
  private func refuse(_ path: String) -> Gate {
    let gate = Gate()
    transport.answer(path, with: .response(.unauthorized).held(at: gate), .json("[]"))
    return gate
  }

  private func expectNothingWaits() {
    #expect(transport.inFlight == 0)
    #expect(authenticator.gate.waitingCount == 0)
    #expect(executor.isIdle)
  }

  @Test func `two 401s at once lead to one refresh, and each request is sent once more`() async throws {
    let gates = [refuse("/a"), refuse("/b")]
    let tasks = [send("/a"), send("/b")]
    for gate in gates { open(gate) }
    #expect(authenticator.gate.waitingCount == 1)
    #expect(transport.tokens == ["1", "1"])
    open(authenticator.gate)
    for task in tasks { #expect(try await task.value == 200) }
    #expect(transport.tokens == ["1", "1", "2", "2"])
    #expect(authenticator.refused == ["1"])
    expectNothingWaits()
  }

  @Test func `a failed refresh fails all its waiters with its error, and nothing is sent again`() async throws {
    let gates = [refuse("/a"), refuse("/b")]
    var tasks = [send("/a"), send("/b")]
    for gate in gates { open(gate) }
    tasks.append(send("/c"))
    authenticator.fail(with: Broken())
    open(authenticator.gate)
    for task in tasks { #expect(await failure(task) is Broken) }
    #expect(transport.tokens == ["1", "1"])
    #expect(authenticator.refused == ["1"])
    expectNothingWaits()
  }

  @Test func `a refresh that was refused was for the 401s too that come later`() async throws {
    let gates = (0..<20).map { refuse("/\($0)") }
    let tasks = (0..<20).map { send("/\($0)") }
    authenticator.fail(with: Broken())
    authenticator.gate.open()
    for gate in gates { open(gate) }
    for task in tasks { #expect(await failure(task) is Broken) }
    #expect(authenticator.refused == ["1"])
    #expect(transport.tokens == Array(repeating: "1", count: 20))
    // A request that begins now is a new attempt.
    authenticator.fail(with: nil)
    transport.answer("/c", with: .response(.unauthorized), .json("[]"))
    #expect(try await send("/c").value == 200)
    #expect(authenticator.refused == ["1", "1"])
    expectNothingWaits()
  }

  @Test func `a refresh that throws its own cancellation refuses no request`() async throws {
    let gate = refuse("/a")
    let task = send("/a")
    authenticator.fail(with: CancellationError())
    open(gate)
    open(authenticator.gate)
    let failure = await error({ try await task.value })
    guard case .cancelled = failure else { return #expect(Bool(false), "\(String(describing: failure))") }
    expectNothingWaits()
  }

  /// Returns the error of a sign-in.
  private func failure(_ task: Task<Int, any Error>) async -> (any Error)? {
    if case .authentication(let failure)? = await error({ try await task.value }) { failure } else { nil }
  }

  @Test func `a late 401 for the old token does not refresh again, and is sent with the newer one`() async throws {
    let gates = [refuse("/a"), refuse("/b")]
    let tasks = [send("/a"), send("/b")]
    open(gates[0])
    open(authenticator.gate)
    #expect(try await tasks[0].value == 200)
    #expect(transport.tokens == ["1", "1", "2"])
    open(gates[1])
    #expect(try await tasks[1].value == 200)
    #expect(transport.tokens == ["1", "1", "2", "2"])
    #expect(authenticator.refused == ["1"])
    expectNothingWaits()
  }

  @Test func `a request that begins during the refresh waits for it, and is sent once`() async throws {
    transport.answer("/b", with: .json("[]"))
    let gate = refuse("/a")
    let refused = send("/a")
    open(gate)
    let later = send("/b")
    #expect(transport.tokens == ["1"])
    open(authenticator.gate)
    #expect(try await refused.value == 200)
    #expect(try await later.value == 200)
    #expect(transport.tokens == ["1", "2", "2"])
    expectNothingWaits()
  }

  @Test func `a cancelled request returns at once, and the refresh continues for the other`() async throws {
    let gates = [refuse("/a"), refuse("/b")]
    let (first, second) = (send("/a"), send("/b"))
    for gate in gates { open(gate) }
    cancel(first)
    await #expect(throws: CancellationError.self) { try await first.value }
    #expect(authenticator.gate.waitingCount == 1)
    open(authenticator.gate)
    #expect(try await second.value == 200)
    #expect(transport.tokens == ["1", "1", "2"])
    #expect(authenticator.refused == ["1"])
    expectNothingWaits()
  }

  @Test func `the refresh continues when its last waiter leaves, and its token is used`() async throws {
    let gates = [refuse("/a"), refuse("/b")]
    let tasks = [send("/a"), send("/b")]
    for gate in gates { open(gate) }
    cancel(tasks[0])
    cancel(tasks[1])
    for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
    #expect(authenticator.gate.waitingCount == 1)
    transport.answer("/c", with: .json("[]"))
    let next = send("/c")
    open(authenticator.gate)
    #expect(try await next.value == 200)
    #expect(transport.tokens == ["1", "1", "2"])
    #expect(authenticator.refused == ["1"])
    expectNothingWaits()
  }

  @Test func `a request that is cancelled before its 401 starts no refresh`() async throws {
    let gate = Gate()
    transport.answer("/a", with: .response(.unauthorized).held(at: gate, ignoresCancellation: true))
    let task = send("/a")
    cancel(task)
    open(gate)
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(authenticator.refused.isEmpty)
    expectNothingWaits()
  }

  @Test func `a sign-out cancels a refresh without waiters`() async throws {
    let gate = refuse("/a")
    let task = send("/a")
    open(gate)
    cancel(task)
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(authenticator.gate.waitingCount == 1)
    backend.authentication?.signOut()
    executor.run()
    expectNothingWaits()
  }

  @Test func `many at once make one refresh`() async throws {
    let gate = Gate()
    for n in 0..<50 {
      transport.answer("/\(n)", with: .response(.unauthorized).held(at: gate), .json("[]"))
    }
    let tasks = (0..<50).map { send("/\($0)") }
    open(gate)
    open(authenticator.gate)
    for task in tasks { #expect(try await task.value == 200) }
    #expect(transport.tokens == Array(repeating: "1", count: 50) + Array(repeating: "2", count: 50))
    #expect(authenticator.refused == ["1"])
    expectNothingWaits()
  }
}

/// The same in a layer, whose flights run on the global executor.
@Suite("Races of sign-in and sign-out", .timeLimit(.minutes(5)))
struct SignOutRaceTests {
  /// A layer whose refresh is held, and heeds no cancellation.
  private struct Held {
    let transport = ScriptedTransport()
    let authenticator = TokenAuthenticator(ignoresCancellation: true)
    let disk = MemoryPersistence()
    let authentication: AuthenticationMiddleware<TokenAuthenticator>
    let layer: ModelLayer

    init() {
      authenticator.gate.close()
      authentication = AuthenticationMiddleware(authenticator, credential: "1", origins: [Bench.url])
      layer = ModelLayer(
        backend: Backend(
          baseURL: Bench.url, transport: transport, authentication: authentication, reachability: .always),
        persistence: disk, scope: "ada")
    }
  }

  @Test func `a refresh that ends after the sign-out signs no user in`() async throws {
    let held = Held()
    held.transport.answer("/v1/note", with: .response(.unauthorized), .json(Note(1, "late").json))
    let notes = held.layer.reactor(Note.self)
    let caller = Task { await error { try await notes.fetch("note") } }
    try await held.authenticator.gate.waitForArrival()
    try await held.layer.signOut()
    #expect(await caller.value?.isCancelled == true)
    held.authenticator.ended.close()
    held.authenticator.gate.open()
    try await held.authenticator.ended.waitForArrival()
    held.authenticator.ended.open()
    guard case .authentication(let failure)? = await error({ try await notes.fetch("note") }) else {
      Issue.record("a request was sent")
      return
    }
    #expect(failure is ReactorError.SignedOut)
    #expect(held.transport.tokens == ["1"])
    #expect(try await held.disk.entries(in: nil, url: nil).isEmpty)
    held.authentication.signIn("9")
    #expect(try await notes.fetch("note").text == "late")
    #expect(held.transport.tokens == ["1", "9"])
  }

  @Test func `an answer to the old token that comes after the sign-out is stored nowhere`() async throws {
    let held = Held()
    let gate = Gate()
    held.transport.answer("/v1/note", with: .json(Note(1, "old").json).held(at: gate, ignoresCancellation: true))
    let notes = held.layer.reactor(Note.self)
    let caller = Task { await error { try await notes.fetch("note") } }
    try await gate.waitForArrival()
    try await held.layer.signOut()
    gate.open()
    #expect(await caller.value?.isCancelled == true)
    try await held.transport.waitUntilIdle()
    #expect(notes.cached("note") == nil)
    #expect(try await held.disk.entries(in: nil, url: nil).isEmpty)
  }

  @Test func `a sign-out during a refresh cancels it and its waiters`() async throws {
    let transport = ScriptedTransport()
    transport.answer("/v1/note", with: .response(.unauthorized), .json(Note(1, "late").json))
    let authenticator = TokenAuthenticator()
    authenticator.gate.close()
    let disk = MemoryPersistence()
    let layer = ModelLayer(
      backend: Backend(
        baseURL: Bench.url, transport: transport,
        authentication: AuthenticationMiddleware(authenticator, credential: "1", origins: [Bench.url]),
        reachability: .always), persistence: disk, scope: "ada")
    let notes = layer.reactor(Note.self)
    let caller = Task { await error { try await notes.fetch("note") } }
    try await authenticator.gate.waitForArrival()
    // The user stays signed in, so the refresh goes on.
    try await layer.removeAll()
    #expect(await caller.value?.isCancelled == true)
    #expect(authenticator.gate.waitingCount == 1)
    try await layer.signOut()
    // It comes to its end because it was cancelled: the gate is still closed.
    try await authenticator.ended.waitForArrival()
    #expect(authenticator.gate.waitingCount == 0)
    #expect(transport.tokens == ["1"])
    #expect(try await disk.entries(in: nil, url: nil).isEmpty)
  }
}
