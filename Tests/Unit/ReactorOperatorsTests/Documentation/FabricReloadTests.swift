#if AsyncAlgorithms
  import Foundation
  import ReactorCore
  import ReactorOperators
  import ReactorTesting
  import TestSupport
  import Testing

  /// The examples of the page that load again, and later.
  @Suite("Building Fabric.app: loading again") struct FabricReloadTests {
    private let clock = TestClock()
    private let transport = ScriptedTransport { _, _ in .json("[]") }

    private func fabric() -> Fabric {
      let backend = Backend(baseURL: Bench.url, transport: transport, reachability: .always)
      let api = AuthenticatedFabricAPI(
        user: "ada", token: AccessToken(access: "token", refresh: ""), backend: backend,
        persistence: MemoryPersistence(),
        configuration: .scripted(clock))
      return Fabric(api: api, clock: clock)
    }

    private func checkNothingWaits() throws {
      #expect(transport.inFlight == 0)
      try clock.checkNobodySleeps()
    }

    @Test func `it reloads while it is on screen, and power is not saved`() async throws {
      let isOnScreen = ScriptedSequence<Bool>()
      let isInLowPowerMode = ScriptedSequence<Bool>()
      let reader = Reader(fabric().reloading(isOnScreen, isInLowPowerMode))
      while let state = try await reader.next(), state.value == nil {}
      #expect(clock.sleeperCount == 0)
      isOnScreen.send(true)
      isInLowPowerMode.send(false)
      for elapsed in [30, 60] {
        try await clock.waitForSleepers()
        #expect(clock.nextDeadline == TestClock.Instant(elapsed: .seconds(elapsed)))
        clock.advance(by: .seconds(30))
        #expect(try await reader.next()?.fetchStatus == .idle)
      }
      try await clock.waitForSleepers()
      isInLowPowerMode.send(true)
      try await isInLowPowerMode.waitUntilHandled()
      clock.advance(by: .seconds(30))
      isInLowPowerMode.send(true)
      try await isInLowPowerMode.waitUntilHandled()
      #expect(transport.requestCount == 3)
      clock.advance(by: .seconds(15))
      isInLowPowerMode.send(false)
      #expect(try await reader.next()?.fetchStatus == .idle)
      try await clock.waitForSleepers()
      #expect(clock.nextDeadline == TestClock.Instant(elapsed: .seconds(135)))
      await reader.cancel()
      try await isOnScreen.waitUntilEnded()
      #expect(transport.requestCount == 4)
      try checkNothingWaits()
    }

    @Test func `it does not reload while the scripted power saving is on`() async throws {
      let (isOnScreen, power) = (ScriptedSequence<Bool>(), ScriptedPowerSaving())
      let reader = Reader(fabric().reloading(isOnScreen, power.updates))
      while let state = try await reader.next(), state.value == nil {}
      isOnScreen.send(true)
      try await clock.waitForSleeper(for: .seconds(30))
      power.set(true)
      try await power.waitUntilHandled()
      clock.advance(by: .seconds(30))
      try await clock.waitUntilNobodySleeps()
      power.set(false)
      #expect(try await reader.next()?.fetchStatus == .idle)
      #expect(transport.requestCount == 2)
      try await clock.waitForSleeper(for: .seconds(30))
      await reader.cancel()
      try await power.waitUntilNobodyListens()
      try checkNothingWaits()
    }

    @Test func `it repeats when the app becomes active, or the screen appears, at most once a minute`() async throws {
      let activity = ScriptedAppActivity()
      let (appearances, appear) = AsyncStream.makeStream(of: Void.self)
      let reader = Reader(fabric().repeated(appearances, activity))
      while let state = try await reader.next(), state.value == nil {}
      activity.becomeActive()
      try await clock.waitForSleepers()
      appear.yield()
      activity.becomeActive()
      #expect(clock.nextDeadline == TestClock.Instant(elapsed: .seconds(60)))
      clock.advance(by: .seconds(60))
      while let state = try await reader.next(), state.value == nil {}
      #expect(transport.requestCount == 2)
      await reader.cancel()
      try checkNothingWaits()
    }

    @Test func `a timer invalidates, and the open states ask`() async throws {
      let fabric = fabric()
      let reader = Reader(fabric.api.applications.states(for: "projects"))
      try await transport.waitForRequests()
      while let state = try await reader.next(), state.value == nil || state.fetchStatus != .idle {}
      let ticking = Task { [clock] in await fabric.ticking(on: clock) }
      try await clock.waitForSleepers()
      clock.advance(by: .seconds(30))
      try await transport.waitForRequests(count: 2)
      ticking.cancel()
      await ticking.value
      await reader.cancel()
      try await clock.waitUntilNobodySleeps()
    }

    @Test func `a search waits for the typing to stop, and a newer one cancels it`() async throws {
      let gate = Gate()
      transport.answer("/v1/projects?q=re", with: .json(#"[{"id":1,"name":"late"}]"#).held(at: gate))
      transport.answer("/v1/projects?q=reactor", with: .json(#"[{"id":2,"name":"Reactor"}]"#))
      let (queries, continuation) = AsyncStream.makeStream(of: String.self)
      let reader = Reader(fabric().searching(queries, on: clock))
      continuation.yield("re")
      try await clock.waitForSleepers()
      clock.advance(by: .milliseconds(300))
      try await transport.waitForRequests()
      continuation.yield("reactor")
      try await clock.waitForSleepers()
      clock.advance(by: .milliseconds(300))
      try await transport.waitForCancellations()
      var values: [[Application]] = []
      while values.isEmpty, let state = try await reader.next() { values += state.value.map { [$0] } ?? [] }
      #expect(values.first?.map(\.name) == ["Reactor"])
      #expect(transport.requests.map(\.path) == ["/v1/projects?q=re", "/v1/projects?q=reactor"])
      // The reader leaves while a request is under way and more queries may come.
      transport.answer("/v1/projects?q=react", with: .json("[]").held(at: Gate()))
      continuation.yield("react")
      try await clock.waitForSleepers()
      clock.advance(by: .milliseconds(300))
      try await transport.waitForRequests(count: 3)
      await reader.cancel()
      try await transport.waitForCancellations(count: 2)
      try await clock.waitUntilNobodySleeps()
      continuation.finish()
    }

    @Test func `what depends on another value switches with it`() async throws {
      transport.answer("/v1/projects", with: .json(#"[{"id":1,"name":"One"}]"#), .json(#"[{"id":2,"name":"Two"}]"#))
      transport.answer("/v1/projects/1/crashes", with: .json(#"[{"id":10}]"#))
      transport.answer("/v1/projects/2/crashes", with: .json(#"[{"id":20}]"#))
      let fabric = fabric()
      let reader = Reader(fabric.dependent())
      while let state = try await reader.next(), state.value?.map(\.id) != [10] {}
      await fabric.api.applications.invalidate("projects")
      while let state = try await reader.next(), state.value?.map(\.id) != [20] {
        #expect(state.value == nil || state.value?.map(\.id) == [10])
      }
      await reader.cancel()
      try checkNothingWaits()
    }

    @Test func `what goes on in the background ends with its own error when the time is over`() async throws {
      let backgroundTime = ScriptedBackgroundTime()
      transport.answer("/v1/projects", with: .json("[]").held(at: Gate()))
      let reader = Reader(fabric().inBackground(backgroundTime))
      try await transport.waitForRequests()
      #expect(backgroundTime.names == ["applications"])
      backgroundTime.expire()
      await #expect(throws: Fabric.OutOfTime.self) { try await reader.next() }
      try await transport.waitForCancellations()
      #expect(backgroundTime.names.isEmpty)
    }

    @Test func `what is polled is asked for again after its interval, while somebody watches`() async throws {
      let reader = Reader(fabric().polled())
      for count in 1...3 {
        try await transport.waitForRequests(count: count)
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(30))
      }
      try await transport.waitForRequests(count: 4)
      await reader.cancel()
      try await clock.waitUntilNobodySleeps()
    }
  }
#endif
