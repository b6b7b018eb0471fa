import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(5))) struct `A cassette recorder` {
  private let transport = ScriptedTransport()
  private let file = CassetteFile()
  private var recorder: CassetteRecorder { CassetteRecorder(transport, to: file.url) }

  @Test func `a cassette recorder passes exchanges on, and writes each down at once`() async throws {
    let recorder = recorder
    transport.answer("/a", with: .json("[1]", fields: [.eTag: "\"1\""]))
    for count in 1...2 {
      let (response, body) = try await recorder.ask("/a?n=\(count)", .post, body: "\(count)")
      #expect(response.headerFields[.eTag] == "\"1\"" && body == Data("[1]".utf8))
      let read = try Cassette(contentsOf: file.url)
      #expect(read.exchanges.map(\.request.url) == (1...count).map { "https://api.test/a?n=\($0)" })
      #expect(read.exchanges.last?.request.body == Data("\(count)".utf8))
      #expect(read == recorder.cassette)
    }
  }

  @Test func `a cassette recorder puts what ran at once in the order in which it began`() async throws {
    let (recorder, first, second) = (recorder, Gate(), Gate())
    transport.answer("/1", with: ScriptedTransport.Answer.json("1").held(at: first))
    transport.answer("/2", with: ScriptedTransport.Answer.json("2").held(at: second))
    let one = Task { try await recorder.ask("/1") }
    try await first.waitForArrival()
    let two = Task { try await recorder.ask("/2") }
    try await second.waitForArrival()
    second.open()
    _ = try await two.value
    #expect(try Cassette(contentsOf: file.url).exchanges.map(\.request.url) == ["https://api.test/2"])
    first.open()
    _ = try await one.value
    let urls = try Cassette(contentsOf: file.url).exchanges.map(\.request.url)
    #expect(urls == ["https://api.test/1", "https://api.test/2"])
  }

  @Test func `a cassette recorder loses nothing of what runs at once`() async throws {
    let recorder = recorder
    transport.answer("/a", with: .json("1"))
    await withTaskGroup { group in
      for number in 0..<50 { group.addTask { _ = try? await recorder.ask("/a?n=\(number)") } }
    }
    #expect(Set(try Cassette(contentsOf: file.url).exchanges.map(\.request.url)).count == 50)
  }

  @Test func `a cassette recorder records a failure, and no cancellation`() async throws {
    let (recorder, gate) = (recorder, Gate())
    let lost = URLError(.networkConnectionLost, userInfo: ["URL": "https://api.test/?k=hush"])
    transport.answer("/lost", with: .failure(lost))
    transport.answer("/left", with: ScriptedTransport.Answer.json("1").held(at: gate))
    await #expect(throws: URLError.self) { try await recorder.ask("/lost") }
    let left = Task { try await recorder.ask("/left") }
    try await gate.waitForArrival()
    left.cancel()
    await #expect(throws: CancellationError.self) { try await left.value }
    let exchange = try #require(recorder.cassette.exchanges.first)
    #expect(recorder.cassette.exchanges.count == 1)
    #expect(exchange.outcome == .failure("the connection was lost before the response was complete (URLError -1005)"))
    #expect(try !file.text.contains("hush"))
  }

  @Test func `a cassette recorder keeps no secret`() async throws {
    transport.answer(
      "/a",
      with: .response(
        fields: [
          .setCookie: "id=hush", .location: "https://api.test/b?Token=hush&page=1#access_token=hush",
          .eTag: "\"1\"",
        ], body: Data("[1]".utf8)))
    let secrets = CassetteSecrets(queryItems: ["token", "ACCESS_TOKEN"]) { exchange in
      if exchange.request.method == .post { exchange.request.body = Data("changed".utf8) }
    }
    let recorder = CassetteRecorder(transport, to: file.url, secrets: secrets)
    let fields: HTTPFields = [
      .authorization: "Bearer hush", .cookie: "id=hush", .proxyAuthorization: "Basic hush", .accept: "*/*",
    ]
    let (response, _) = try await recorder.ask(
      "/a?page=1&%74oken=hush&TOKEN=hush", .post, fields: fields, body: "password=hush")
    #expect(response.headerFields[.setCookie] == "id=hush")
    let text = try file.text
    #expect(!text.contains("hush"), "\(text)")
    let exchange = try #require(try Cassette(contentsOf: file.url).exchanges.first)
    #expect(exchange.request.url == "https://api.test/a?page=1&%74oken=redacted&TOKEN=redacted")
    #expect(exchange.request.fields[.accept] == "*/*" && exchange.request.fields[.authorization] == "redacted")
    guard case .response(let kept) = exchange.outcome else {
      Issue.record("no response")
      return
    }
    #expect(kept.fields[.location] == "https://api.test/b?Token=redacted&page=1#access_token=redacted")
    #expect(kept.fields[.eTag] == "\"1\"")
  }

  @Test func `a cassette recorder keeps no secret of a URL that is the value of a query item`() async throws {
    transport.answer("/a", with: .response(body: Data("[1]".utf8)))
    let secrets = CassetteSecrets(queryItems: ["token"])
    let recorder = CassetteRecorder(transport, to: file.url, secrets: secrets)
    _ = try await recorder.ask("/a?next=/b?token=hush&token=hush?hush&page=1", .get)
    let exchange = try #require(try Cassette(contentsOf: file.url).exchanges.first)
    #expect(exchange.request.url == "https://api.test/a?next=/b?token=redacted&token=redacted&page=1")
  }

  @Test func `a cassette recorder has the names of the layer's configuration for secrets`() {
    #expect(CassetteSecrets().queryItems == ReactorConfiguration().secretQueryItems)
    #expect(CassetteSecrets().fields == [.authorization, .proxyAuthorization, .cookie, .setCookie])
  }

  @Test func `a cassette recorder says that it cannot write`() async throws {
    transport.answer("/a", with: .json("1"))
    // A file stands where the directory is to be.
    try file.write("")
    let recorder = CassetteRecorder(transport, to: file.url.appending(path: "api.json"))
    await #expect(throws: CocoaError.self) { try await recorder.ask("/a") }
    #expect(throws: CocoaError.self) { try recorder.save() }
  }

  @Test func `a cassette recorder saves an empty cassette where nothing was asked`() throws {
    try recorder.save()
    #expect(try Cassette(contentsOf: file.url) == Cassette())
  }
}
