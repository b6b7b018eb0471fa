import Foundation
import ReactorCore
import ReactorLoopback
import ServerSentEvents
import Testing

// The Swift code of ServerSentEvents.docc, which a test compares with it.

struct Headline: Codable, Hashable, Sendable {
  var text: String
}

func headlines(of backend: Backend, show: (Headline) -> Void) async throws {
  for try await event in EventSource(backend, "events") where event.type == "headline" {
    show(try JSONDecoder().decode(Headline.self, from: Data(event.data.utf8)))
  }
}

func body(of headline: Headline, number: Int) throws -> [UInt8] {
  let data = String(decoding: try JSONEncoder().encode(headline), as: UTF8.self)
  return try ServerSentEvent(type: "headline", data: data, id: "\(number)").encoded
}

let heartbeat = ServerSentEvent.comment()

struct Prompt: Codable, Sendable {
  var question: String
}

struct Token: Codable, Sendable {
  var text: String
}

func answer(to prompt: Prompt, from backend: Backend, show: (String) -> Void) async throws {
  let chat = try Resource("chat", method: .post, json: prompt)
  for try await event in backend.events(for: chat) {
    guard event.data != "[DONE]" else { break }
    show(try JSONDecoder().decode(Token.self, from: Data(event.data.utf8)).text)
  }
}

func refusal(of error: any Error) -> String? {
  guard case EventSourceError.request(.server(let response, let body)) = error else { return nil }
  return "\(response.status.code): \(String(decoding: body, as: UTF8.self))"
}

func follow(_ backend: Backend, from saved: String, save: (String) throws -> Void) async throws {
  for try await event in EventSource(backend, "prices", lastEventID: saved) {
    print(event.type, event.data)
    try save(event.id)
  }
}

@Suite("The guide Streaming answers") struct EventExamples {
  private func backend(_ server: EventServer) -> Backend {
    Backend(baseURL: server.url, transport: URLSessionTransport())
  }

  @Test(.timeLimit(.minutes(1))) func `an answer is shown word by word, up to its mark`() async throws {
    let server = try EventServer(
      .events("data: {\"text\":\"Forty\"}\n\n", "data: {\"text\":\"-two\"}\n\n", "data: [DONE]\n\n", end: .held))
    defer { server.stop() }
    var words: [String] = []
    try await answer(to: Prompt(question: "six by nine?"), from: backend(server)) { words.append($0) }
    #expect(words == ["Forty", "-two"])
    try await server.left.wait()
    let request = try #require(server.requests.first)
    #expect(request.method == "POST")
    #expect(request["Accept"] == "text/event-stream")
    #expect(String(decoding: request.body, as: UTF8.self) == #"{"question":"six by nine?"}"#)
  }

  @Test(.timeLimit(.minutes(1))) func `an answer that is cut off throws, and is not asked for again`() async throws {
    let server = try EventServer(.events("data: {\"text\":\"Forty\"}\n\n", "data: {\"text\":", end: .cut))
    defer { server.stop() }
    var words: [String] = []
    let error = await #expect(throws: EventSourceError.self) {
      try await answer(to: Prompt(question: "?"), from: backend(server)) { words.append($0) }
    }
    guard case .request(.network)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(words == ["Forty"])
    #expect(server.requests.count == 1)
  }

  @Test(.timeLimit(.minutes(1))) func `an answer without a mark ends with its response`() async throws {
    let server = try EventServer(.events("data: {\"text\":\"a\"}\n\n"))
    defer { server.stop() }
    var words: [String] = []
    try await answer(to: Prompt(question: "?"), from: backend(server)) { words.append($0) }
    #expect(words == ["a"])
    #expect(server.requests.count == 1)
  }

  @Test(.timeLimit(.minutes(1))) func `a refusal has the words of the service`() async throws {
    let server = try EventServer(.status(429, body: "slow down"))
    defer { server.stop() }
    let error = await #expect(throws: EventSourceError.self) {
      try await answer(to: Prompt(question: "?"), from: backend(server)) { _ in }
    }
    #expect(error.flatMap { refusal(of: $0) } == "429: slow down")
    #expect(server.requests.count == 1)
  }

  @Test(.timeLimit(.minutes(1))) func `a feed shows its headlines, and its position is saved`() async throws {
    let headline = Headline(text: "Rain")
    // The least wait between two connections, since the code of a guide runs on the system's clock.
    let bytes = "retry: 100\n" + String(decoding: heartbeat + (try body(of: headline, number: 7)), as: UTF8.self)
    let server = try EventServer(.events(bytes), .status(204))
    defer { server.stop() }
    var (shown, saved) = ([Headline](), [String]())
    try await headlines(of: backend(server)) { shown.append($0) }
    #expect(shown == [headline])
    let feed = try EventServer(.events(bytes), .status(204))
    defer { feed.stop() }
    try await follow(backend(feed), from: "6") { saved.append($0) }
    #expect(saved == ["7"])
    #expect(feed.positions == ["6", "7"])
  }
}
