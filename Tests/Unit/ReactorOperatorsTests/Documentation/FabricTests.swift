#if AsyncAlgorithms
  import Foundation
  import HTTPTypes
  import ReactorCore
  import ReactorOperators
  import ReactorTesting
  import TestSupport
  import Testing

  /// The examples of the page do what the page says.
  @Suite("Building Fabric.app") struct FabricTests {
    private let clock = TestClock()
    private let transport = ScriptedTransport()
    private let disk = MemoryPersistence()
    private let one = #"[{"id":1,"name":"One"}]"#
    private let two = #"[{"id":2,"name":"Two"}]"#
    private let offline = ScriptedTransport.Answer.failure(URLError(.timedOut))

    private func api(user: String = "ada") -> AuthenticatedFabricAPI {
      AuthenticatedFabricAPI(
        user: user, token: AccessToken(access: "token of \(user)", refresh: "refresh of \(user)"),
        backend: Backend(baseURL: Bench.url, transport: transport, reachability: .always), persistence: disk,
        configuration: .scripted(clock))
    }

    private func fabric() -> Fabric { Fabric(api: api(), clock: clock) }

    private func answer(_ answers: ScriptedTransport.Answer...) {
      // The last answer is given for good.
      switch answers.count {
      case 1: transport.answer("/v1/projects", with: answers[0])
      case 2: transport.answer("/v1/projects", with: answers[0], answers[1])
      default: transport.answer("/v1/projects", with: answers[0], answers[1], answers[2])
      }
    }

    private func checkNothingWaits() throws {
      #expect(transport.inFlight == 0)
      try clock.checkNobodySleeps()
    }

    @Test(arguments: [
      "materializeToLoadState", "loadStates()", "ignoringLoadingAndFailuresAfterSuccess()", "startWith(_:)",
      "startWithNil()", "ignoringErrors(replacement:)", "failRandomly(with:probability:using:)",
      "repeated(on:throttle:clock:)", "repeatWith", "reloadPeriodically(every:while:",
      "continuingInBackground(named:timeoutError:", "ReactorConfiguration.SystemPowerSaving.updates", "attemptMap",
      "skipRepeats",
      "combineLatest",
      "timer", "flatMap(.Latest)", "observeOn(UIScheduler())", "AnyProperty", "MutableProperty", "<~",
      "the authenticated API", "the view model",
    ])
    func `the page's table has it`(name: String) throws {
      let page = try Repository.markdown("Sources/ReactorOperators/ReactorOperators.docc/BuildingFabric.md")
      let rows = page.lines.filter { $0.hasPrefix("|") }.map { $0.replacing("/", with: ".") }
      #expect(rows.contains { $0.contains(name) })
    }

    @Test func `a request bears the token, and what is stored does not`() async throws {
      // The token is added below the cache, so that no variant is computed from it.
      answer(.json(one, fields: [.vary: "Authorization"]))
      #expect(try await fabric().applications().map(\.name) == ["One"])
      #expect(transport.requests.map { $0.request.headerFields[.authorization] } == ["Bearer token of ada"])
      let entries = try await disk.entries(in: nil, url: nil)
      #expect(entries.count == 1)
      for entry in entries {
        let record = try #require(try await disk.load(entry.key))
        var text = ""
        dump(record, to: &text)
        #expect(!text.contains("token of ada"))
      }
      try checkNothingWaits()
    }

    @Test func `a token that has expired is refreshed once, through a layer that keeps nothing`() async throws {
      transport.answer("/v1/projects", with: .response(.unauthorized), .json(one))
      transport.answer("/v1/oauth/token", with: .json(#"{"access":"new","refresh":"newer"}"#))
      #expect(try await fabric().applications().map(\.name) == ["One"])
      #expect(transport.requests.map(\.path) == ["/v1/projects", "/v1/oauth/token", "/v1/projects"])
      #expect(
        transport.requests.map { $0.request.headerFields[.authorization] } == [
          "Bearer token of ada", nil, "Bearer new",
        ])
      #expect(transport.requests[1].body == Data(#"{"refresh_token":"refresh of ada"}"#.utf8))
      #expect(try await disk.entries(in: nil, url: nil).count == 1)
      try checkNothingWaits()
    }

    @Test func `what one user has is not another's, and is gone after the sign-out`() async throws {
      answer(.json(one), .json(two))
      let ada = api()
      #expect(try await ada.applications.fetch("projects").map(\.id) == [1])
      #expect(try await api(user: "grace").applications.fetch("projects").map(\.id) == [2])
      try await ada.signOut()
      #expect(ada.applications.cached("projects") == nil)
      #expect(try await disk.entries(in: "ada", url: nil).isEmpty)
      #expect(try await disk.entries(in: "grace", url: nil).count == 1)
      try checkNothingWaits()
    }

    @Test func `a map that throws ends the sequence with its error`() async throws {
      answer(.json(#"[{"id":1,"name":"One"},{"id":2,"name":"Two"}]"#))
      #expect(try await fabric().newest().collect().map(\.name) == ["Two"])
      answer(.json("[]"))
      let empty = Fabric(api: api(user: "grace"), clock: clock)
      await #expect(throws: Fabric.NoApplications.self) { try await empty.newest().collect() }
      try checkNothingWaits()
    }

    @Test func `a fetch as load states is loading, then loaded or failed`() async throws {
      answer(.json(one), offline)
      let states = fabric().materialized()
      #expect(try await states.collect().map(\.fetchStatus) == [.fetching, .idle])
      let failed = try #require(try await states.collect().last)
      guard case .failed(.timedOut) = failed.phase else {
        Issue.record("\(failed.phase)")
        return
      }
      try checkNothingWaits()
    }

    @Test func `a derived value is kept while its source loads again`() async throws {
      let gate = Gate()
      answer(.json(one), .json(two).held(at: gate))
      let fabric = fabric()
      let reader = Reader(fabric.names())
      while let state = try await reader.next(), state.value != ["One"] || state.fetchStatus != .idle {}
      await fabric.api.applications.invalidate("projects")
      while let state = try await reader.next(), state.fetchStatus != .fetching { #expect(state.value == ["One"]) }
      gate.open()
      while let state = try await reader.next(), state.value != ["Two"] { #expect(state.value == ["One"]) }
      await reader.cancel()
      try checkNothingWaits()
    }

    @Test func `a reload neither blinks nor takes the value away`() async throws {
      answer(.json(one), offline, .json(two))
      let fabric = fabric()
      let reader = Reader(fabric.steady())
      while let state = try await reader.next(), state.value == nil {}
      let all = Reader(fabric.api.applications.states(for: "projects", policy: .cacheOnly))
      _ = try? await fabric.api.applications.fetchFromNetwork("projects")
      while let state = try await all.next(), state.error == nil {}
      _ = try await fabric.api.applications.fetchFromNetwork("projects")
      while let state = try await all.next(), state.value?.map(\.id) != [2] {}
      let next = try #require(try await reader.next())
      #expect(next.value?.map(\.id) == [2])
      #expect(next.fetchStatus == .idle)
      #expect(next.error == nil)
      await reader.cancel()
      await all.cancel()
      try checkNothingWaits()
    }

    @Test @MainActor func `a view model follows, and its request goes when it does`() async throws {
      answer(.json(one).held(at: Gate()))
      var model: ApplicationListModel? = ApplicationListModel(api())
      #expect(fabric().text(try #require(model)) == "Loading…")
      try await transport.waitForRequests()
      model = nil
      try await transport.waitForCancellations()
      #expect(transport.requestCount == 1)
    }

    @Test @MainActor func `states are followed on the main actor`() async throws {
      answer(.json(one))
      let fabric = fabric()
      let loaded = Latch()
      let following = Task {
        await fabric.observed { state in
          if state.value?.map(\.id) == [1], state.fetchStatus == .idle { loaded.open() }
        }
      }
      try await loaded.wait()
      let model = ApplicationListModel(fabric.api)
      #expect(fabric.text(model) == "1 applications")
      following.cancel()
      await following.value
      try checkNothingWaits()
    }

    @Test @MainActor func `a property of an observable screen is a sequence`() async throws {
      guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
      let screen = ApplicationScreen()
      var visibility = fabric().visibility(screen).makeAsyncIterator()
      #expect(await visibility.next(isolation: MainActor.shared) == false)
      screen.isVisible = true
      #expect(await visibility.next(isolation: MainActor.shared) == true)
      screen.select(Application(id: 1, name: "One"))
      #expect(screen.selected?.name == "One")
    }

    @Test func `a sequence starts with a value, or with none`() async throws {
      let one = Application(id: 1, name: "One")
      let placeholder = Application(id: 0, name: "–")
      let (selections, continuation) = AsyncStream.makeStream(of: Application.self)
      continuation.yield(one)
      continuation.finish()
      let (shown, selected) = fabric().started(selections, placeholder: placeholder)
      #expect(try await shown.collect() == [placeholder, one])
      #expect(try await selected.collect() == [nil])
    }

    @Test func `an error is replaced`() async throws {
      answer(offline)
      #expect(try await fabric().withoutErrors().collect() == [[]])
      try checkNothingWaits()
    }

    @Test func `one fetch in three fails, and the same ones with the same seed`() async throws {
      answer(.json(one))
      func outcomes(seed: UInt64) async throws -> [Bool] {
        let states = fabric().flaky(seed: seed)
        var outcomes: [Bool] = []
        for _ in 0..<60 { outcomes.append(try await states.collect().last?.error == nil) }
        return outcomes
      }
      let first = try await outcomes(seed: 1)
      #expect(first == (try await outcomes(seed: 1)))
      #expect(first != (try await outcomes(seed: 2)))
      #expect((5..<35).contains(first.count { !$0 }))
      try checkNothingWaits()
    }
  }

  extension ReactorConfiguration {
    /// Time moves when the test moves it; models stay in memory, so no task sleeps; nothing is
    /// retried, and the machine's battery has no say.
    static func scripted(_ clock: TestClock) -> ReactorConfiguration {
      var configuration = ReactorConfiguration()
      configuration.clock = clock
      configuration.now = clock.wallClock
      configuration.keepUnusedFor = .never
      configuration.lowPower.source = ScriptedPowerSaving()
      configuration.retry = .never
      return configuration
    }
  }
#endif
