import ReactorFlux
import Testing

/// Actions from other isolations: no action is lost, and each sender's actions keep their order.
@MainActor @Suite struct Posting {
  nonisolated static let senders = 8
  nonisolated static let each = 12_500
  let dispatcher = Dispatcher()

  @Test func `100,000 from 8 tasks loses none, and keeps each sender's order`() async throws {
    let store = try dispatcher.probe(A.self)
    await Self.send { [dispatcher] in dispatcher.post(.go, $0) }
    // Takes what is left.
    dispatcher.dispatch(Event<Void>("last"))
    Self.expectAll(store.values)
  }

  @Test func `100,000 awaited from 8 tasks loses none, and keeps each sender's order`() async throws {
    let store = try dispatcher.probe(A.self)
    await Self.send { [dispatcher] in await dispatcher.dispatch(.go, $0) }
    Self.expectAll(store.values)
  }

  @Test func `a posted action comes before a later awaited dispatch, each time`() async throws {
    let store = try dispatcher.probe(A.self)
    await Self.send { [dispatcher] in
      dispatcher.post(.go, $0)
      await dispatcher.dispatch(.next, -1 - $0)
    }
    Self.expectAll(store.values.filter { $0 >= 0 })
    var posted: Set<Int> = []
    var early = 0
    for value in store.values {
      if value >= 0 { posted.insert(value) } else if posted.remove(-1 - value) == nil { early += 1 }
    }
    #expect(early == 0)
    #expect(posted == [])
  }

  @Test func `a posted action is handled even without a later dispatch`() async throws {
    let (handled, continuation) = AsyncStream.makeStream(of: Int.self)
    _ = try dispatcher.probe(A.self) { _, action in
      continuation.yield(action.payload ?? -1)
      if action.payload == nil { continuation.finish() }
    }
    await Task.detached { [dispatcher] in
      dispatcher.post(.go, 1)
      dispatcher.post(Action(.go, 2))
      dispatcher.post(.go, error: Refused())
    }.value
    var values: [Int] = []
    for await value in handled { values.append(value) }
    #expect(values == [1, 2, -1])
  }

  @Test func `a posted action comes before later dispatches on the main actor`() throws {
    let store = try dispatcher.probe(A.self)
    dispatcher.post(.go, 1)
    dispatcher.post(.next, 2)
    #expect(store.values == [])
    dispatcher.dispatch(.go, 3)
    #expect(store.values == [1, 2, 3])
    dispatcher.post(.go, 4)
    // Dispatching an event without a handler also delivers the posted ones.
    dispatcher.dispatch(Event<Void>("nobody"))
    #expect(store.values == [1, 2, 3, 4])
  }

  @Test func `an action that is posted while others are handled does not overtake them`() throws {
    let store = try dispatcher.probe(A.self) { [dispatcher] _, action in
      if let value = action.payload, value < 3 { dispatcher.post(.go, value + 10) }
    }
    for value in 1...4 { dispatcher.post(.go, value) }
    dispatcher.dispatch(.go, 5)
    #expect(store.values == [1, 2, 3, 4, 5])
    dispatcher.dispatch(.go, 6)
    #expect(store.values == [1, 2, 3, 4, 5, 11, 12, 6])
  }

  @Test func `a handler that posts for ever leaves the main actor to others`() async throws {
    let (handled, continuation) = AsyncStream.makeStream(of: Int.self)
    var isEnded = false
    _ = try dispatcher.probe(A.self) { [dispatcher] _, action in
      let value = action.payload ?? 0
      continuation.yield(value)
      if value < 0 { isEnded = true } else if !isEnded { dispatcher.post(.go, value + 1) }
    }
    dispatcher.post(.go, 0)
    for await value in handled where value == 1_000 { break }
    // The handler posts no more: it would keep a processor busy for as long as the tests run.
    dispatcher.dispatch(.next, -1)
    #expect(isEnded)
  }

  @Test func `a posted action retains the dispatcher until it is handled, and no longer`() async throws {
    let (handled, continuation) = AsyncStream.makeStream(of: Int.self)
    weak var gone: Dispatcher?
    try {
      let dispatcher = Dispatcher()
      gone = dispatcher
      let parting = Parting { continuation.finish() }
      _ = try dispatcher.probe(A.self) { _, action in
        withExtendedLifetime(parting) { _ = continuation.yield(action.payload ?? 0) }
      }
      dispatcher.post(.go, 7)
    }()
    #expect(gone != nil)
    var values: [Int] = []
    // Ends when the store is released.
    for await value in handled { values.append(value) }
    #expect(values == [7])
    #expect(gone == nil)
  }

  private nonisolated static func send(_ body: @escaping @Sendable (Int) async -> Void) async {
    await withTaskGroup(of: Void.self) { group in
      for sender in 0..<senders {
        group.addTask { for number in 0..<each { await body(sender * each + number) } }
      }
    }
  }

  private static func expectAll(_ values: [Int]) {
    #expect(values.count == senders * each)
    for sender in 0..<senders {
      let own = sender * each..<(sender + 1) * each
      #expect(values.filter(own.contains) == Array(own), "sender \(sender)")
    }
  }
}

/// Calls `body` when it is released, which must be on the main actor.
final class Parting: Sendable {
  private let body: @MainActor () -> Void

  init(_ body: @escaping @MainActor () -> Void) { self.body = body }

  deinit { MainActor.assumeIsolated(body) }
}
