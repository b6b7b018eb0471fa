import Foundation
import ReactorCore
import ReactorMiddleware
import ReactorTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Over real HTTP` {
  @Test func `a busy server and an expired token are one fetch`() async throws {
    let tick = Tick()
    try await MockServer.run { _ in
      switch tick.next() {
      case 1: .status(503, fields: [("Retry-After", "0")])
      case 2: .status(401)
      default: .text(Note(1, "one").json)
      }
    } body: { server async throws in
      let url = server.url
      var configuration = ReactorConfiguration()
      configuration.retry.firstDelay = .zero
      // Not asked, since the host is this machine.
      let backend = Backend(
        baseURL: url, authentication: AuthenticationMiddleware(TokenAuthenticator(), credential: "1", origins: [url]),
        userAgent: "Newsroom/1.0", reachability: .never)
      let layer = ModelLayer(backend: backend, configuration: configuration)
      #expect(try await layer.reactor(Note.self).fetch("note").text == "one")
      #expect(server.requests.map { $0["Authorization"] } == ["Bearer 1", "Bearer 1", "Bearer 2"])
      #expect(server.requests.allSatisfy { $0["User-Agent"] == "Newsroom/1.0" })
    }
  }

  @Test func `a connection that is refused, or lost, is tried again`() async throws {
    let tick = Tick()
    try await MockServer.run { _ in
      tick.next() == 1 ? .close : .text(Note(1, "one").json)
    } body: { server in
      var configuration = ReactorConfiguration()
      configuration.retry.firstDelay = .zero
      let layer = ModelLayer(baseURL: server.url, configuration: configuration)
      #expect(try await layer.reactor(Note.self).fetch("note").text == "one")
      #expect(server.requests.count == 2)
      let nobody = ModelLayer(
        baseURL: try #require(URL(string: "http://127.0.0.1:\(MockServer.unusedPort)")),
        configuration: configuration)
      let refusals = EventRecorder(nobody)
      #expect(await error { try await nobody.reactor(Note.self).fetch("note") } != nil)
      #expect(refusals.count(.retry) == 2)
    }
  }
}
