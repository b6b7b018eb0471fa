import AsyncAlgorithms
import Foundation
import HTTPTypes
import Observation
import ReactorCore

// The Swift code of ReactorCore.docc/BuildingFabric.md, which a test compares with it.

struct Application: Codable, Sendable, Hashable {
  let id: Int
  let name: String
}

struct Crash: Codable, Sendable, Hashable {
  let id: Int
}

struct BearerToken: TransportMiddleware {
  let token: String

  func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
    var request = request
    request.headerFields[.authorization] = "Bearer \(token)"
    return try await next(request, body)
  }
}

struct FabricAPI: Sendable {
  private let layer: ModelLayer

  init(user: String, token: String, backend: Backend, persistence: any Persistence) {
    var backend = backend
    backend.middlewares.append(BearerToken(token: token))
    layer = ModelLayer(backend: backend, persistence: persistence, scope: Scope(user))
  }

  var applications: Reactor<[Application]> { layer.reactor() }
  var crashes: Reactor<[Crash]> { layer.reactor() }

  func signOut() async throws { try await layer.removeAll() }
}

@MainActor
final class ApplicationListModel {
  let applications: Live<[Application]>

  init(_ api: FabricAPI) {
    applications = Live(api.applications, "projects")
  }
}

@MainActor @Observable
final class Screen {
  var isVisible = false
  private(set) var title = "Applications"

  func show(_ application: Application) { title = application.name }
}

struct NoApplications: Error {}

struct OutOfTime: Error {}

/// What the examples of the page take as given.
struct Fabric {
  var api: FabricAPI
  var clock: any Clock<Duration> & Sendable = ContinuousClock()

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

  func names() -> some AsyncSequence<LoadState<[String]>, Never> & Sendable {
    let names = api.applications.states(for: "projects").mapValues { $0.map(\.name) }
    return names
  }

  func materialized() -> some AsyncSequence<LoadState<[Application]>, Never> & Sendable {
    let states = api.applications.fetches("projects", policy: .networkOnly).loadStates()
    return states
  }

  func steady() -> some AsyncSequence<LoadState<[Application]>, Never> & Sendable {
    let states = api.applications.states(for: "projects").ignoringLoadingAndFailuresAfterSuccess()
    return states
  }

  func showing(_ model: ApplicationListModel) async -> String {
    let text =
      switch await model.applications.state.phase {
      case .loading: "Loading…"
      case .failed: "Error loading applications!"
      case .loaded(let applications): "\(applications.count) applications"
      }
    return text
  }

  func following(_ model: ApplicationListModel, _ show: @MainActor (LoadState<[Application]>) -> Void) async {
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
      let states = Observations { @MainActor in model.applications.state }
      for await state in states { await show(state) }
    }
  }
}
