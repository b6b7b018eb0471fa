import Foundation
import ReactorCore
import ReactorMiddleware
import ReactorWrites

// The Swift code of ReactorCore.docc, which a test compares with it.

/// The declarations that the guides take as given.
struct Guide {
  struct Story: Codable, Sendable {
    let id: Int
    let title: String
  }

  var api: URL
  var directory: URL

  func first() async throws -> [Story] {
    let stories = Reactor<[Story]>(baseURL: api, persistence: FilePersistence(directory: directory))
    let list = try await stories.fetch("stories")
    return list
  }

  func defaults() -> ModelLayer {
    var configuration = ReactorConfiguration()
    configuration.freshFor = .seconds(60)
    configuration.staleIfError = .seconds(3600)
    configuration.retry = .never
    let layer = ModelLayer(baseURL: api, configuration: configuration)
    return layer
  }

  func layers() -> (ModelLayer, Reactor<[Story]>) {
    let layer = ModelLayer(baseURL: api, persistence: FilePersistence(directory: directory))
    let stories = layer.reactor([Story].self)
    return (layer, stories)
  }

  func fetching(_ stories: Reactor<[Story]>) async throws -> [[Story]] {
    let list = try await stories.fetch("stories")
    let second = try await stories.fetch(Resource("stories", query: ["page": "2"]))
    let newest = try await stories.fetchFromNetwork("stories")
    let known = stories.cached("stories")
    return [list, second, newest, known ?? []]
  }

  func failing(_ stories: Reactor<[Story]>) async {
    do {
      show(try await stories.fetch("stories", policy: .networkFirst))
    } catch .noConnectivity, .timedOut {
      showOffline()
    } catch .authentication(let reason) {
      signIn(because: reason)
    } catch {
      report(error)
    }
  }

  func observing(_ stories: Reactor<[Story]>) async {
    for await state in stories.states(for: "stories") {
      switch state.phase {
      case .loading: showSpinner()
      case .loaded(let stories): show(stories)
      case .failed(let error): report(error)
      }
    }
  }

  func showing(_ articles: Reactor<[Story]>) async {
    for await state in articles.states(for: "articles") {
      switch state.phase {
      case .loading: showSpinner()
      case .loaded(let list): show(list, isRefreshing: state.fetchStatus == .fetching, failure: state.error)
      case .failed(let error): report(error)
      }
    }
  }

  func changing(_ stories: Reactor<[Story]>, in layer: ModelLayer) async throws -> Story {
    try await stories.save([Story(id: 1, title: "Draft")], for: "stories")
    await stories.invalidate("stories")
    try await stories.remove("stories")
    try await layer.signOut()

    let post = try Resource("stories", method: .post, json: Story(id: 2, title: "New"))
    let created = try await layer.reactor(Story.self).send(post)
    return created
  }

  func hiding() -> ModelLayer {
    var configuration = ReactorConfiguration()
    configuration.secretQueryItems.insert("session")
    let layer = ModelLayer(baseURL: api, configuration: configuration)
    return layer
  }

  func watching(_ layer: ModelLayer) -> ModelLayer.ObservationToken {
    let token = layer.observeEvents { event in print(event) }
    return token
  }

  func counting(_ layer: ModelLayer, with counter: EventCounter) {
    layer.observeEvents(for: counter) { counter, event in counter.count(event) }
  }

  func signedIn<A: Authenticator>(_ authenticator: A, _ token: A.Credential, _ user: String) async throws {
    let authentication = AuthenticationMiddleware(authenticator, credential: token, origins: [api])
    let backend = Backend(
      baseURL: api, authentication: authentication, userAgent: "Newsroom/1.0",
      logging: LoggingMiddleware { exchange in print(exchange) })
    let layer = ModelLayer(backend: backend, scope: Scope(user))

    try await layer.signOut()

    authentication.signIn(token)
  }

  struct TokenAnswer: Codable, Sendable {
    let access: String
    let refresh: String
    let lifetime: TimeInterval
  }

  struct Keychain: Sendable {
    func save(_ credential: BearerToken.Credential?) {}
  }

  func signing(_ token: String, _ user: String) -> ModelLayer {
    let backend = Backend(baseURL: api, authentication: BearerToken(token, origins: [api]))
    let layer = ModelLayer(backend: backend, scope: Scope(user))
    return layer
  }

  func expiring(
    _ saved: BearerToken.Credential, _ tokens: Reactor<TokenAnswer>, _ keychain: Keychain
  ) -> BearerToken {
    let authentication = BearerToken(saved, origins: [api], save: keychain.save) { expired in
      let answer = try await tokens.send(
        Resource("oauth/token", method: .post, json: ["refresh_token": expired.refreshToken]))
      return BearerToken.Credential(
        answer.access, refreshToken: answer.refresh, goodUntil: Date() + answer.lifetime)
    }
    return authentication
  }

  func logging() -> LoggingMiddleware {
    let logging = LoggingMiddleware(numbers: LoggingMiddleware.pagingItems.union(["year"])) { exchange in
      print(exchange)
    }
    return logging
  }

  func refused(_ stories: Reactor<[Story]>) async {
    do {
      show(try await stories.fetch("stories"))
    } catch .authentication(let reason) {
      signIn(because: reason)
    } catch {
      report(error)
    }
  }

  func paths(_ stories: Reactor<[Story]>, _ story: Reactor<Story>, id: Int, text: String) async throws {
    let one = try await story.fetch("stories/\(id)")
    let found = try await stories.fetch("search?q=\(text)")
    try await story.remove("stories/\(id)")

    show(found + [one])
  }

  func pages(_ stories: Reactor<[Story]>) async throws {
    var page = try await stories.fetchResponse("stories")
    while let next = try page.link(rel: "next") {
      page = try await stories.fetchResponse(next)
    }
  }

  func deleting(_ stories: Reactor<[Story]>) async throws {
    try await stories.mutate("stories", by: Resource("stories/7", method: .delete)) { list in
      list.removeAll { $0.id == 7 }
    }
  }

  func choosing(_ stories: Reactor<[Story]>) async throws -> [Story] {
    let shown = try await stories.fetch("stories", policy: .staleWhileRevalidate)
    return shown
  }

  private func show(_ stories: [Story]) {}
  private func show(_ stories: [Story], isRefreshing: Bool, failure: ReactorError?) {}
  private func showSpinner() {}
  private func showOffline() {}
  private func signIn(because reason: any Error) {}
  private func report(_ error: ReactorError) {}
}

final class EventCounter: Sendable {
  func count(_ event: ReactorEvent) {}
}
