import Foundation
import ReactorCore
import ReactorTesting
import Testing

// The Swift code of ReactorTesting.docc, which a test compares with it.

private struct Story: Codable, Sendable, Hashable {
  let id: Int
  let title: String
}

@Suite(.timeLimit(.minutes(5))) struct `The guide to testing over real HTTP` {
  @Test func `the stories come with the app's name`() async throws {
    try await MockServer.run { _ in
      .json(#"[{"id": 1, "title": "Hello"}]"#)
    } body: { server in
      let backend = Backend(baseURL: server.url, userAgent: "News/1.0")
      let stories = try await ModelLayer(backend: backend).reactor([Story].self).fetch("stories")
      #expect(stories.map(\.title) == ["Hello"] && server.requests.first?["User-Agent"] == "News/1.0")
    }
  }

  @Test func `the stories survive a server that is gone`() async throws {
    let server = try MockServer()
    server.answer("/stories", with: .json(#"[{"id": 1, "title": "Hello"}]"#), .status(503))
    var configuration = ReactorConfiguration()
    configuration.retry = .never
    let stories = ModelLayer(baseURL: server.url, configuration: configuration).reactor([Story].self)

    #expect(try await stories.fetch("stories").count == 1)
    #expect(try await stories.fetch("stories", policy: .networkFirst).count == 1)
    server.stop()
    #expect(try await stories.fetch("stories", policy: .networkFirst).count == 1)
    #expect(server.requests.map(\.target) == ["/stories", "/stories"])
  }

  @Test func `a screen that is left closes its connection`() async throws {
    let gate = Gate()
    try await MockServer.run { _ in
      .json("[]").held(at: gate)
    } body: { server in
      let stories = ModelLayer(baseURL: server.url).reactor([Story].self)
      let screen = Task { try await stories.fetch("stories") }
      try await gate.waitForArrival()
      screen.cancel()
      try await server.waitUntilDisconnected()
    }
  }

  @Test func `a scripted transport answers in order`() async throws {
    let transport = ScriptedTransport()
    transport.answer("/v1/stories", with: .json("[]"), .response(.notModified))
    #expect(transport.requestCount == 0)
  }
}
