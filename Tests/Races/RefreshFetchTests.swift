import Foundation
import HTTPTypes
import ReactorCore
import ReactorMiddleware
import ReactorTesting
import TestSupport
import Testing

/// A refresh that fetches through the layer whose requests wait for it.
@Suite("Refreshes that fetch", .timeLimit(.minutes(5)))
struct RefreshFetchTests {
  /// Gets its token by a GET of the layer's own.
  private struct Fetching: Authenticator {
    let refresh: @Sendable () async throws -> String

    func sign(_ request: inout HTTPRequest, body: Data?, with token: String) {
      request.headerFields[.authorization] = "Bearer \(token)"
    }

    func refresh(_ token: String) async throws -> String { try await refresh() }
  }

  /// A layer whose server knows only the token "2", and gives it to unsigned requests.
  private func layer(
    persistence: (any Persistence)? = MemoryPersistence(),
    refresh: @escaping @Sendable (Reactor<Note>) async throws -> String
  ) -> (ModelLayer, ScriptedTransport) {
    let transport = ScriptedTransport { request, _ in
      switch request.headerFields[.authorization] {
      case nil: .json(Note(2, "2").json)
      case "Bearer 2": .json(Note(3, "signed").json)
      default: .response(.unauthorized)
      }
    }
    let notes = Shared<Reactor<Note>?>(nil)
    let authenticator = Fetching {
      guard let notes = notes.value else { throw Broken() }
      return try await refresh(notes)
    }
    let backend = Backend(
      baseURL: Bench.url, transport: transport,
      authentication: AuthenticationMiddleware(authenticator, credential: "1", origins: [Bench.url]))
    var configuration = ReactorConfiguration()
    configuration.checksReachability = false
    configuration.retry = .never
    configuration.keepUnusedFor = .never
    let layer = ModelLayer(backend: backend, persistence: persistence, configuration: configuration)
    notes.change { $0 = layer.reactor() }
    return (layer, transport)
  }

  @Test(arguments: FetchPolicy.allCases.filter { $0 != .cacheOnly })
  func `a refresh does not join the flight that waits for it`(policy: FetchPolicy) async throws {
    let (layer, transport) = layer { try await $0.fetch("session", policy: policy).text }
    #expect(try await layer.reactor(Note.self).fetch("session").text == "signed")
    #expect(transport.tokens == ["1", "-", "2"])
    // The response of the refresh was only for the refresh.
    #expect(layer.reactor(Note.self).cached("session")?.text == "signed")
  }

  @Test func `a refresh gets what is cached`() async throws {
    let (layer, transport) = layer { try await $0.fetch("token").text }
    let notes = layer.reactor(Note.self)
    try await notes.save(Note(2, "2"), for: "token")
    #expect(try await notes.fetch("session").text == "signed")
    #expect(transport.tokens == ["1", "2"])
  }

  @Test func `a stream in a refresh ends in an error, and does not wait for the refresh`() async throws {
    let (layer, _) = layer { notes in
      var states = notes.states(for: "session").makeAsyncIterator()
      let state = await states.next()
      #expect(state?.error?.isInvalidResource == true)
      return "2"
    }
    #expect(try await layer.reactor(Note.self).fetch("session").text == "signed")
  }

  @Test func `a task that outlives a refresh is signed again`() async throws {
    let left = Shared<Task<String, any Error>?>(nil)
    let (isOver, goes) = (Gate(), Gate())
    let (layer, transport) = layer { notes in
      left.change { left in
        left = Task {
          try await goes.wait()
          return try await notes.fetch("other").text
        }
      }
      isOver.open()
      return "2"
    }
    #expect(try await layer.reactor(Note.self).fetch("session").text == "signed")
    goes.open()
    #expect(try await left.value?.value == "signed")
    #expect(transport.tokens == ["1", "2", "2"])
  }
}
