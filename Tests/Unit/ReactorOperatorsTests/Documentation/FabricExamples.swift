#if AsyncAlgorithms
  import AsyncAlgorithms
  import Foundation
  import Observation
  import ReactorCore
  import ReactorMiddleware
  import ReactorOperators
  import ReactorTesting

  // The Swift code of ReactorOperators.docc/BuildingFabric.md, which a test compares with it.

  struct Application: Codable, Sendable, Hashable {
    let id: Int
    let name: String
  }

  struct Crash: Codable, Sendable, Hashable {
    let id: Int
  }

  struct AccessToken: Codable, Sendable {
    let access: String
    let refresh: String
  }

  struct FabricAuthenticator: Authenticator {
    let tokens: Reactor<AccessToken>

    func sign(_ request: inout HTTPRequest, body: Data?, with token: AccessToken) {
      request.headerFields[.authorization] = "Bearer \(token.access)"
    }

    func refresh(_ token: AccessToken) async throws -> AccessToken {
      try await tokens.send(Resource("oauth/token", method: .post, json: ["refresh_token": token.refresh]))
    }
  }

  struct AuthenticatedFabricAPI: Sendable {
    private let layer: ModelLayer

    init(
      user: String, token: AccessToken, backend: Backend, persistence: any Persistence,
      configuration: ReactorConfiguration = .init()
    ) {
      let tokens = ModelLayer(backend: backend, configuration: configuration)
      var backend = backend
      backend.authentication = AuthenticationMiddleware(
        FabricAuthenticator(tokens: tokens.reactor()), credential: token, origins: [backend.baseURL])
      layer = ModelLayer(
        backend: backend, persistence: persistence, scope: Scope(user), configuration: configuration)
    }

    var applications: Reactor<[Application]> { layer.reactor() }
    var crashes: Reactor<[Crash]> { layer.reactor() }

    func signOut() async throws { try await layer.signOut() }
  }

  @MainActor
  final class ApplicationListModel {
    let applications: LiveResource<[Application]>

    init(_ api: AuthenticatedFabricAPI) {
      applications = LiveResource(api.applications, "projects")
    }
  }

  @MainActor @Observable
  final class ApplicationScreen {
    var isVisible = false
    private(set) var selected: Application?

    func select(_ application: Application) { selected = application }
  }

  /// The values that the examples of the page assume.
  struct Fabric {
    struct NoApplications: Error {}
    struct OutOfTime: Error {}

    typealias States<Value> = AsyncSequence<LoadState<Value>, Never> & Sendable
    typealias Flags = AsyncSequence<Bool, Never> & Sendable

    var api: AuthenticatedFabricAPI
    var clock: any Clock<Duration> = ContinuousClock()

    func applications() async throws -> [Application] {
      let applications = try await api.applications.fetch("projects")
      return applications
    }

    func newest() -> some AsyncSequence<Application, any Error> & Sendable {
      let newest = api.applications.fetches("projects").map { applications in
        guard let newest = applications.max(by: { $0.id < $1.id }) else { throw NoApplications() }
        return newest
      }
      return newest
    }

    func names() -> some States<[String]> {
      let names = api.applications.states(for: "projects").mapValues { $0.map(\.name) }
      return names
    }

    @MainActor
    func observed(_ show: (LoadState<[Application]>) -> Void) async {
      for await state in api.applications.states(for: "projects") { show(state) }
    }

    func materialized() -> some States<[Application]> {
      let states = api.applications.fetches("projects", policy: .networkOnly).loadStates()
      return states
    }

    func steady() -> some States<[Application]> {
      let states = api.applications.states(for: "projects").ignoringLoadingAndFailuresAfterSuccess()
      return states
    }

    @MainActor
    func text(_ model: ApplicationListModel) -> String {
      switch model.applications.state.phase {
      case .loading: "Loading…"
      case .failed: "Error loading applications!"
      case .loaded(let applications): "\(applications.count) applications"
      }
    }

    @MainActor @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    func visibility(_ screen: ApplicationScreen) -> some Flags {
      let isOnScreen = Observations { screen.isVisible }
      return isOnScreen
    }

    func started<Selections: AsyncSequence<Application, Never> & Sendable>(
      _ selections: Selections, placeholder: Application
    ) -> (some AsyncSequence<Application, Never> & Sendable, some AsyncSequence<Application?, Never> & Sendable) {
      let shown = selections.startWith(placeholder)
      let selected = selections.startWithNil()
      return (shown, selected)
    }

    func withoutErrors() -> some AsyncSequence<[Application], Never> & Sendable {
      let applications = api.applications.fetches("projects").ignoringErrors(replacement: [])
      return applications
    }

    func flaky(seed: UInt64) -> some States<[Application]> {
      let states = api.applications.fetches("projects", policy: .networkOnly)
        .failRandomly(with: ReactorError.timedOut, probability: 1 / 3, using: SeededGenerator(seed: seed))
        .loadStates()
      return states
    }

    func lowPower() -> some Flags {
      let isInLowPowerMode = ReactorConfiguration.SystemPowerSaving().updates
      return isInLowPowerMode
    }

    func reloading(
      _ isOnScreen: some Flags, _ isInLowPowerMode: some Flags
    ) -> some States<[Application]> {
      let shouldReload = combineLatest(isOnScreen, isInLowPowerMode).map { $0 && !$1 }
      let states = api.applications.fetches("projects", policy: .networkOnly).loadStates()
        .reloadPeriodically(every: .seconds(30), while: shouldReload, clock: clock)
        .ignoringLoadingAndFailuresAfterSuccess()
      return states
    }

    func polled() -> LoadStates<[Application]> {
      let states = api.applications.states(for: "projects", polling: .seconds(30))
      return states
    }

    func ticking(on clock: some Clock<Duration>) async {
      for await _ in AsyncTimerSequence(interval: .seconds(30), clock: clock) {
        await api.applications.invalidate("projects")
      }
    }

    func searching(
      _ queries: AsyncStream<String>, on clock: some Clock<Duration>
    ) -> some States<[Application]> {
      let results = queries.removeDuplicates().debounce(for: .milliseconds(300), clock: clock).loadStates()
        .dependentStates { query in
          api.applications.states(for: Resource("projects", query: ["q": query]))
        }
      return results
    }

    func dependent() -> some States<[Crash]> {
      let crashes = api.applications.states(for: "projects").dependentStates { applications in
        api.crashes.states(for: Resource("projects/\(applications.first?.id ?? 0)/crashes"))
      }
      return crashes
    }

    func repeated(_ appearances: AsyncStream<Void>, _ activity: any AppActivity) -> some States<[Application]> {
      let states = api.applications.fetches("projects", policy: .networkOnly).loadStates()
        .repeated(on: merge(appearances, activity.becameActive), throttle: .seconds(60), clock: clock)
      return states
    }

    func inBackground(
      _ backgroundTime: any BackgroundTime
    ) -> some AsyncSequence<[Application], any Error> & Sendable {
      let applications = api.applications.fetches("projects", policy: .networkOnly)
        .continuingInBackground(named: "applications", timeoutError: OutOfTime(), using: backgroundTime)
      return applications
    }
  }
#endif
