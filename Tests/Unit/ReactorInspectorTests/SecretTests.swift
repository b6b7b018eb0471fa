import Foundation
import HTTPTypes
import ReactorCore
import ReactorFlux
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorInspector

@Suite("What an inspector sends", .timeLimit(.minutes(5)))
struct SecretTests {
  private struct Signed: LocalizedError {
    var errorDescription: String? { "no answer from https://api.example.com/v1?token=s3cret" }
  }

  @Test func `holds no secret, and nothing of a body`() async throws {
    let bench = Bench { $0.secretQueryItems = ["token"] }
    bench.transport.answer("/v1/note", with: .json(Note(1, "s3cret").json, fields: [.setCookie: "id=s3cret"]))
    bench.transport.answer("/v1/list", with: .json(#"[{"id":1,"text":"a"},{"id":"s3cret","text":"b"}]"#))
    bench.transport.answer("/v1/bad", with: .json(#"{"id":"s3cret"}"#))
    bench.transport.answer("/v1/down", with: .failure(Signed()))
    bench.transport.answer("/v1/gone", with: .response(.notFound, body: Data("s3cret".utf8)))
    let inspector = Inspector(bench)
    let headers: HTTPFields = [.authorization: "Bearer s3cret", .cookie: "id=s3cret"]
    for path in ["note", "bad", "down", "gone"] {
      _ = try? await bench.notes.fetch(Resource(path, query: ["token": "s3cret"], headers: headers))
    }
    _ = try await bench.layer.reactor([Note].self).fetch(Resource("list", query: ["token": "s3cret"]))
    try await inspector.show(Dispatcher(), dispatching: "s3cret")

    var feed = await inspector.live()
    let first = try #require(await feed.next())
    let rows = try ReadFrame(first).rows
    var sent = String(decoding: first, as: UTF8.self) + (await text(inspector.get("/inspector").body))
    #expect(rows.count == 5)
    for row in rows { sent += await text(inspector.get("/inspector/key?id=\(row.id)").body) }
    #expect(sent.contains("\"pruned\"") && sent.contains("found a string at [1].id") && sent.contains("answered 404"))
    #expect(sent.contains("session.signedIn") && sent.contains("\"path\":\"accessToken\""))
    #expect(!sent.contains("s3cret"))
    try await bench.waitUntilNothingWaits()
  }

  @Test(arguments: ["/inspector", "/inspector/live", "/inspector/key?id=1", "/elsewhere"])
  func `the page is not cached, not framed, and read as its own type`(_ path: String) async {
    let fields = await Inspector(Bench()).get(path).response.headerFields
    #expect(fields[.cacheControl] == "no-store")
    #expect(fields[.xContentTypeOptions] == "nosniff")
    #expect(fields[.contentSecurityPolicy]?.contains("frame-ancestors 'none'") == true)
    #expect(fields[.contentSecurityPolicy]?.contains("default-src 'none'") == true)
  }

  @Test func `is a page with its own nonce, and nothing of another origin`() async throws {
    let inspector = Inspector(Bench())
    let (response, body) = await inspector.get("/inspector")
    let page = await text(body)
    let nonce = try #require(page.firstMatch(of: /<script nonce="([0-9a-f]{32})">/)).output.1
    #expect(response.headerFields[.contentSecurityPolicy]?.contains("script-src 'nonce-\(nonce)';") == true)
    #expect(await !text(inspector.get("/inspector").body).contains(nonce))
    #expect(!page.contains("{{") && !page.contains("innerHTML") && !page.contains("unsafe"))
    let urls = page.matches(of: /(?:https?:)?\/\/[a-z][a-z0-9.]*\.[a-z]+/).map { String($0.output) }
    #expect(Set(urls) == ["http://www.w3.org"])
    #expect(page.contains("reactor-path\" content=\"/inspector\""))
  }

  @Test func `is 404 for a key that is not known, and 421 for another host`() async {
    let inspector = Inspector(Bench())
    #expect(await inspector.get("/inspector/key?id=1").response.status == .notFound)
    #expect(await inspector.get("/inspector", host: "evil.example").response.status == .misdirectedRequest)
    let refused = await inspector.get("/inspector/remove?key=1").response
    #expect(refused.status == .methodNotAllowed && refused.headerFields[.allow] == "POST")
  }
}

extension Inspector {
  @MainActor fileprivate func show(_ dispatcher: Dispatcher, dispatching secret: String) throws {
    try dispatcher.register(Credentials.self)
    show(dispatcher, values: .all)
    dispatcher.dispatch(Event<String>("session.signedIn"), secret)
  }
}

private final class Credentials: PlainStore {
  let context = StoreContext()
  private(set) var accessToken = ""
  private(set) var link = ""
  static let handlers: [ActionHandler<Credentials>] = [
    .on(Event<String>("session.signedIn")) { store, action in
      store.accessToken = action.payload ?? ""
      store.link = "https://api.example.com/v1?signature=\(store.accessToken)"
      store.emitChange()
    }
  ]
}
