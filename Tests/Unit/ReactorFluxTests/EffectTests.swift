import ReactorFlux
import Testing

/// An `async` closure whose end is an action.
@MainActor @Suite struct Effects {
  let dispatcher = Dispatcher()

  @Test func `dispatch their payload as one action`() async throws {
    let store = try dispatcher.probe(A.self)
    await dispatcher.dispatch(.go) {
      MainActor.assertIsolated()
      return await Self.later(5)
    }
    #expect(store.values == [5])
  }

  @Test func `dispatch their error as one action`() async throws {
    var errors: [Refused?] = []
    _ = try dispatcher.probe(A.self) { errors.append($1.error as? Refused) }
    await dispatcher.dispatch(.go) { throw Refused() }
    #expect(errors == [Refused()])
  }

  @Test func `effects pass the middlewares`() async throws {
    let store = try dispatcher.probe(A.self)
    dispatcher.use { action, next in
      next(action)
      next(action)
    }
    await dispatcher.dispatch(.go) { 1 }
    #expect(store.values == [1, 1])
  }

  @Test func `an effect of a task that was cancelled before dispatches nothing`() async throws {
    let trace = Trace()
    _ = try dispatcher.probe(A.self, trace.line("A"))
    await Task { [dispatcher] in
      withUnsafeCurrentTask { $0?.cancel() }
      await dispatcher.dispatch(.go) { 1 }
      await dispatcher.dispatch(.go) { throw Refused() }
    }.value
    #expect(trace.lines == [])
  }

  @Test(arguments: [Ending.value, .error, .cancellation])
  func `effects that are cancelled while they run dispatch nothing`(ending: Ending) async throws {
    let trace = Trace()
    _ = try dispatcher.probe(A.self, trace.line("A"))
    let (started, isStarted) = AsyncStream.makeStream(of: Void.self)
    let (never, continuation) = AsyncStream.makeStream(of: Void.self)
    let task = Task { [dispatcher] in
      await dispatcher.dispatch(.go) {
        isStarted.finish()
        // Ends with the task.
        for await _ in never {}
        return try ending.end()
      }
    }
    for await _ in started {}
    task.cancel()
    await task.value
    continuation.finish()
    #expect(trace.lines == [])
  }

  @Test func `effects that throw their own CancellationError dispatch nothing`() async throws {
    let trace = Trace()
    _ = try dispatcher.probe(A.self, trace.line("A"))
    await dispatcher.dispatch(.go) { throw CancellationError() }
    #expect(trace.lines == [])
  }

  @Test func `cancelled once their action was dispatched dispatch no second`() async throws {
    let store = try dispatcher.probe(A.self) { _, _ in withUnsafeCurrentTask { $0?.cancel() } }
    await Task { [dispatcher] in await dispatcher.dispatch(.go) { 1 } }.value
    #expect(store.values == [1])
  }

  @Test func `effects that run at the same time do not wait for each other`() async throws {
    let store = try dispatcher.probe(A.self)
    let (gate, continuation) = AsyncStream.makeStream(of: Void.self)
    async let slow: Void = dispatcher.dispatch(.go) {
      for await _ in gate {}
      return 1
    }
    await dispatcher.dispatch(.go) { 2 }
    #expect(store.values == [2])
    continuation.finish()
    await slow
    #expect(store.values == [2, 1])
  }

  enum Ending: Sendable {
    case value, error, cancellation

    func end() throws -> Int {
      switch self {
      case .value: 1
      case .error: throw Refused()
      case .cancellation: throw CancellationError()
      }
    }
  }

  @concurrent private nonisolated static func later(_ value: Int) async -> Int { value }
}
