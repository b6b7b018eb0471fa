import Foundation
import HTTPCachingProxy
import HTTPTypes
import ReactorCore
import ReactorInspector
import ReactorMiddleware
import ReactorTesting
import TestSupport
import Testing

/// Every kind of secret goes in at every place; whatever comes out at any door is searched for it.
@Suite("No secret comes out of any door", .timeLimit(.minutes(5)))
struct CanaryTests {
  /// Letters and digits, which no encoding changes.
  private static let canary = "c4nary"
  /// SHA-256 of the canary, by which a list of short passwords finds it.
  private static let digest = "afa4684481ef10f820e931685f0bb42a039ba74ef2c29a595c43a912b5d48513"

  /// Secrets of a query and a fragment, as a program, a server or an attacker may spell them.
  private static let queries = [
    "access_token=c4nary", "TOKEN=c4nary", "%74oken=c4nary", "a=1;token=c4nary", "token[]=c4nary",
    "user%5Bpassword%5D=c4nary", "next=https://b.example/?access_token=c4nary", "a=1#access_token=c4nary",
    "next=https%3A%2F%2Fb.example%2F%3Fx%3D1%26api_key%3Dc4nary", "n=%253Ftoken%253Dc4nary", "token=a%26c4nary",
    "next=https%3A%2F%2Fada%3Ac4nary%40b.example%2F", "next=https://ada:c4nary@b.example/", "sig=a;c4nary",
  ]

  private struct Foreign: LocalizedError {
    var errorDescription: String? {
      "no answer from https://ada:c4nary@api.example.com/v1?own=c4nary#c4nary, nor from /v1?own=c4nary or /a;token=c4nary"
    }
  }

  private static func fields(_ query: String) -> HTTPFields {
    var fields: HTTPFields = [
      .setCookie: "id=c4nary", .location: "/there?\(query)", .contentLocation: "/v1/note?\(query)", .eTag: "\"1\"",
      .cacheControl: "max-age=60", .vary: "Authorization",
    ]
    if let link = HTTPField.Name("Link") { fields[link] = "</v1/note?page=2&\(query)>; rel=\"next\"" }
    // Secrets are in the names of its notes too, and no query with another spelling of one answers.
    fields[NoVarySearchTests.name] = "except=()"
    if let refresh = HTTPField.Name("Refresh") { fields[refresh] = "5; url=/v1/note?\(query)" }
    return fields
  }

  private let folder = FileManager.default.temporaryDirectory.appending(path: "canaries-\(UUID().uuidString)")
  private let told = Shared("")
  private let clock = TestClock()

  private func tell(_ text: String) { told.change { $0 += text + "\n" } }

  private func tellDump(_ value: Any) {
    var text = ""
    dump(value, to: &text)
    tell(text + "\(value)" + String(reflecting: value))
  }

  /// A layer whose transport is recorded, with a store on disk.
  private func layer(_ store: any Persistence) throws -> ModelLayer {
    let transport = ScriptedTransport { request, _ in
      let (path, query) = Self.parts(request.path)
      switch path {
      case "/v1/down": throw Foreign()
      case "/v1/gone": return .response(.forbidden, fields: Self.fields(query), body: Data("c4nary".utf8))
      default: return .json(Note(1, "one").json, fields: Self.fields(query))
      }
    }
    var configuration = ReactorConfiguration()
    configuration.clock = clock
    configuration.now = clock.wallClock
    configuration.keepUnusedFor = .never
    configuration.retry = .never
    // Bodies are recorded as they are, unless the test says otherwise.
    let secrets = CassetteSecrets { exchange in
      exchange.request.body = Data()
      guard case .response(var response) = exchange.outcome else { return }
      response.body = Data()
      exchange.outcome = .response(response)
    }
    return ModelLayer(
      backend: Backend(
        baseURL: Bench.url,
        transport: CassetteRecorder(transport, to: folder.appending(path: "cassette.json"), secrets: secrets),
        authentication: AuthenticationMiddleware(TokenAuthenticator(), credential: "c4nary", origins: [Bench.url]),
        logging: LoggingMiddleware(clock: clock) { [told] exchange in told.change { $0 += "\(exchange)\n" } },
        reachability: .always),
      persistence: store, configuration: configuration)
  }

  private static func parts(_ target: String?) -> (path: String, query: String) {
    let parts = (target ?? "").split(separator: "?", maxSplits: 1).map(String.init)
    return (parts.first ?? "", parts.dropFirst().first ?? "")
  }

  private func fetch(_ notes: Reactor<Note>, _ query: String) async {
    let headers: HTTPFields = [.authorization: "Bearer c4nary", .cookie: "id=c4nary", .proxyAuthorization: "c4nary"]
    for path in ["note?\(query)", "down?\(query)", "gone?\(query)", "../x?\(query)", "https://ada:c4nary@h/?\(query)"] {
      let resource = Resource(path, headers: headers)
      tellDump(resource)
      do { tellDump(try await notes.fetch(resource)) } catch {
        tellDump(error)
        tell((error as any Error).localizedDescription)
      }
    }
    let body = Data("{c4nary}".utf8)
    var typed = headers
    typed[.contentType] = "application/json"
    _ = try? await notes.send(Resource("note?\(query)", method: .post, headers: headers, body: body))
    for path in ["note", "gone"] {
      let search = Resource("\(path)?\(query)", method: .query, headers: typed, body: body)
      tellDump(search)
      do { tellDump(try await notes.fetch(search)) } catch { tellDump(error) }
    }
  }

  /// The same requests through a proxy that shares the store.
  private func proxy(_ cache: ProxyCache, _ query: String) async -> CacheResponse? {
    let request = HTTPRequest(
      method: .get, scheme: "https", authority: "api.example.com", path: "/v1/proxied?\(query)",
      headerFields: [.authorization: "Bearer c4nary", .cookie: "id=c4nary"])
    switch await cache.plan(for: request, scope: .shared, at: clock.wallClock()) {
    case .answer(let answer), .answerAndSend(let answer, _): return answer
    case .send(let exchange):
      let response = HTTPResponse(status: .ok, headerFields: Self.fields(query))
      return await cache.receive(response, body: Data("{}".utf8), for: exchange, at: clock.wallClock())
    }
  }

  /// The page, the live feed's first frame, and the page of each key in it.
  private func tellInspector(_ inspector: Inspector) async throws {
    func get(_ path: String) async -> InspectorBody {
      await inspector.respond(to: HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: path)).body
    }
    var feed = await get("/inspector/live").makeAsyncIterator()
    let frame = String(decoding: try #require(await feed.next()), as: UTF8.self)
    tell(frame)
    let ids = frame.matches(of: /"id":"?([^",}]+)/).map { String($0.output.1) }
    #expect(ids.count >= Self.queries.count)
    for path in ["/inspector"] + ids.map({ "/inspector/key?id=\($0)" }) {
      for await piece in await get(path) { tell(String(decoding: piece, as: UTF8.self)) }
    }
  }

  private func files() throws -> String {
    let paths = FileManager.default.enumerator(atPath: folder.path(percentEncoded: false))?.compactMap { $0 as? String }
    return try (paths ?? []).map { path in
      let url = folder.appending(path: path)
      let isFolder = try url.resourceValues(forKeys: [.isDirectoryKey]).isDirectory == true
      return path + (isFolder ? "" : String(decoding: try Data(contentsOf: url), as: UTF8.self))
    }.joined(separator: "\n")
  }

  @Test func `no secret leaves a layer, proxy, store, listing, cassette, log, event, error or inspector`()
    async throws
  {
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = FilePersistence(directory: folder.appending(path: "store"))
    let layer = try layer(store)
    let log = EventRecorder(layer)
    let inspector = Inspector(clock: clock, now: clock.wallClock)
    inspector.show(layer)
    let notes = layer.reactor(Note.self)
    let cache = ProxyCache(persistence: store)
    for query in Self.queries {
      await fetch(notes, query)
      let answers = (await proxy(cache, query), await proxy(cache, query))
      #expect(answers.0?.source == .network && answers.1?.source == .stored, "\(query)")
      // A client gets the URLs that the server sent, also from the store.
      for name in [.location, .contentLocation] + ["Link", "Refresh"].compactMap({ HTTPField.Name($0) }) {
        #expect(answers.1?.response.headerFields[name] == Self.fields(query)[name], "\(query)")
      }
    }
    tellDump(log.events)
    tell(log.events.map(\.description).joined())
    for entry in try await store.entries(in: nil, url: nil) {
      tell("\(entry.key) \(entry.key.url) \(entry.key.identity) \(entry.key.scope)")
      tellDump(entry)
      tellDump(try await store.load(entry.key) as Any)
    }
    try await tellInspector(inspector)
    let files = try files()
    #expect(files.contains("redacted") && files.contains("hmac-") && told.value.contains("hmac-"))
    let bytes = try #require(store.secretKey()?.bytes)
    let keys = ["\(bytes)", bytes.map { String(Int($0) + 256, radix: 16).dropFirst() }.joined()]
    let leaks = (told.value + files).split(separator: "\n").filter { line in
      ([Self.canary, Self.digest] + keys).contains { line.contains($0) }
    }
    #expect(leaks.isEmpty, "\(leaks.count) lines, as \(Set(leaks.map { $0.prefix(300) }).prefix(10))")
  }
}
