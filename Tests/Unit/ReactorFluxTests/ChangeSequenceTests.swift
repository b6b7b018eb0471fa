import Observation
import Testing

@testable import ReactorFlux

/// `changes`: the latest only.
@MainActor @Suite struct `The sequence of changes` {
  @Test func `the sequence yields the latest of the changes that were not read`() async {
    let store = Probe<A>()
    var changes = store.changes.makeAsyncIterator()
    store.emitChange()
    store.emitChange()
    store.emitChange(error: Refused())
    #expect(await changes.next()?.error is Refused)
    store.emitChange()
    let next = await changes.next()
    #expect(next != nil && next?.error == nil)
  }

  @Test func `the sequence of changes gives a change once for each dispatch`() async throws {
    let dispatcher = Dispatcher()
    let store = try dispatcher.probe(A.self) { store, action in
      store.emitChange(error: Refused())
      store.emitChange()
    }
    var changes = store.changes.makeAsyncIterator()
    for value in 1...3 {
      dispatcher.dispatch(.go, value)
      #expect(await changes.next()?.error is Refused)
      #expect(store.values.count == value)
    }
  }

  @Test func `the sequence of changes ends with the task`() async {
    let store = Probe<A>()
    let changes = store.changes
    let (begun, continuation) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      var count = 0
      for await _ in changes {
        count += 1
        continuation.finish()
      }
      return count
    }
    store.emitChange()
    for await _ in begun {}
    task.cancel()
    #expect(await task.value == 1)
    store.emitChange()
    #expect(store.context.observers.observers.isEmpty)
  }

  @Test func `the sequence of changes ends with the store, after its last change`() async {
    var store: Probe<A>? = Probe()
    var changes = store?.changes.makeAsyncIterator()
    store?.emitChange(error: Refused())
    weak let gone = store
    store = nil
    #expect(gone == nil)
    #expect(await changes?.next()?.error is Refused)
    #expect(await changes?.next() == nil)
  }

  @Test func `the sequence of changes ends its observation when it is released`() {
    let store = Probe<A>()
    do {
      let changes = store.changes
      withExtendedLifetime(changes) {}
      #expect(store.context.observers.observers.count == 1)
    }
    store.emitChange()
    #expect(store.context.observers.observers.isEmpty)
  }

  @Test func `the sequence of changes is a new one at each access`() async {
    let store = Probe<A>()
    var first = store.changes.makeAsyncIterator()
    var second = store.changes.makeAsyncIterator()
    store.emitChange()
    #expect(await first.next() != nil)
    #expect(await second.next() != nil)
  }

  @Test func `the sequence of changes is not needed where the store is Observable`() throws {
    let dispatcher = Dispatcher()
    try dispatcher.register(Watched.self)
    let store = try dispatcher.store(Watched.self)
    let owner = Owner()
    let trace = Trace()
    store.observe(owner) { store, _ in trace.add("observer \(store.count)") }
    withObservationTracking {
      _ = store.count
    } onChange: {
      MainActor.assumeIsolated { trace.add("observation") }
    }
    dispatcher.dispatch(.go, 2)
    #expect(trace.lines == ["observation", "observer 2"])
  }
}

@Observable private final class Watched: PlainStore {
  let context = StoreContext()
  private(set) var count = 0
  static let handlers: [ActionHandler<Watched>] = [
    .on(.go) { store, action in
      store.count += action.payload ?? 0
      store.emitChange()
    }
  ]

  init() {}
}
