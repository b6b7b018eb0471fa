import ReactorFlux
import Testing

/// A payload that is released within a dispatch may dispatch again.
@MainActor @Suite struct `Payloads that dispatch as they go` {
  let dispatcher = Dispatcher()

  private func parting() -> Parting { Parting { [dispatcher] in dispatcher.dispatch(.go, 1) } }

  @Test func `payloads that dispatch as they go are handled when they were dispatched directly`() throws {
    let store = try dispatcher.probe(A.self)
    try dispatcher.register(Porter.self)
    dispatcher.dispatch(.brought, parting())
    #expect(store.values == [1])
  }

  @Test func `payloads that dispatch as they go are handled when they were queued`() throws {
    let store = try dispatcher.probe(A.self) { [self] _, action in
      if action.payload == 0 { for _ in 1...3 { dispatcher.dispatch(.brought, parting()) } }
    }
    try dispatcher.register(Porter.self)
    dispatcher.dispatch(.go, 0)
    #expect(store.values == [0, 1, 1, 1])
  }

  @Test func `payloads that dispatch as they go are handled when they were posted`() throws {
    let store = try dispatcher.probe(A.self)
    try dispatcher.register(Porter.self)
    for _ in 1...3 { dispatcher.post(.brought, parting()) }
    dispatcher.dispatch(.next, 0)
    #expect(store.values.sorted() == [0, 1, 1, 1])
  }

  @Test func `a failure while onFailure is replaced is reported to the new closure`() throws {
    _ = try dispatcher.probe(A.self) { _, _ in throw Refused() }
    let reports = Reports(of: Dispatcher())
    dispatcher.onFailure = { [parting = parting()] _ in withExtendedLifetime(parting) {} }
    dispatcher.onFailure = reports.add
    #expect(reports.errors.count == 1)
  }

  @Test func `payloads that dispatch as they go are handled and recorded when a recorder forgets them`() throws {
    let store = try dispatcher.probe(A.self)
    let recorder = ActionRecorder(keepsSnapshots: true)
    dispatcher.use(recorder)
    dispatcher.dispatch(.brought, parting())
    #expect(store.values == [])
    recorder.removeAll()
    #expect(store.values == [1])
    #expect(recorder.log.actions.map(\.name) == ["go"])
    dispatcher.dispatch(.brought, parting())
    try recorder.travel(to: 1, in: dispatcher)
    dispatcher.dispatch(.next, 2)
    #expect(store.values == [1, 2, 1])
    #expect(recorder.log.actions.map(\.name) == ["go", "next", "go"])
  }
}

extension Event where Payload == Parting {
  static var brought: Event { Event("brought") }
}

private final class Porter: PlainStore {
  let context = StoreContext()
  static let handlers: [ActionHandler<Porter>] = [.on(.brought) { _, _ in }]
}
