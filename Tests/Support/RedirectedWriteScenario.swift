import Foundation
import HTTPTypes
public import ReactorCore
import ReactorOutbox
import ReactorTesting
import ReactorWrites
import Testing

/// Writes that are answered by a redirect, from a real server over a real transport: by `send`,
/// `mutate` and an outbox.
public struct RedirectedWriteScenario: Sendable {
  private let transport: any Transport

  public init(_ transport: any Transport) { self.transport = transport }

  private struct Row: Sendable {
    var method: HTTPRequest.Method
    var status: Int
    /// The path that the server redirects to; at another origin if it begins with `other`.
    var location: String
    var isDone: Bool
    /// The requests that the server gets.
    var requests: [String]

    init(_ method: HTTPRequest.Method, _ status: Int, _ location: String, isDone: Bool, _ requests: String...) {
      (self.method, self.status, self.location) = (method, status, location)
      (self.isDone, self.requests) = (isDone, requests)
    }
  }

  private static let rows = [
    // A trailing slash, which the GET finds.
    Row(.post, 301, "/posts/", isDone: false, "POST /posts b", "GET /posts/ "),
    Row(.post, 302, "/posts/", isDone: false, "POST /posts b", "GET /posts/ "),
    Row(.post, 302, "/login", isDone: false, "POST /posts b", "GET /login "),
    Row(.post, 303, "/login", isDone: false, "POST /posts b", "GET /login "),
    Row(.post, 303, "/result", isDone: true, "POST /posts b", "GET /result "),
    Row(.post, 303, "/gone", isDone: true, "POST /posts b", "GET /gone "),
    Row(.post, 307, "/there", isDone: true, "POST /posts b", "POST /there b"),
    Row(.post, 308, "/there", isDone: true, "POST /posts b", "POST /there b"),
    Row(.put, 301, "/there", isDone: true, "PUT /posts b", "PUT /there b"),
    Row(.post, 302, "other/result", isDone: false, "POST /posts b"),
    Row(.post, 307, "other/result", isDone: false, "POST /posts b"),
    Row(.post, 308, "other/result", isDone: false, "POST /posts b"),
    Row(.put, 301, "other/result", isDone: false, "PUT /posts b"),
    Row(.delete, 302, "other/result", isDone: false, "DELETE /posts b"),
    // No redirect, but a network's gate.
    Row(.put, 200, "", isDone: false, "PUT /posts b"),
  ]

  /// No write is lost silently, and no other origin gets one.
  public func expectNoLoss() async throws {
    for row in Self.rows {
      try await MockServer.run { _ in
        .text("{}")
      } body: { other in
        let location = row.location.replacing("other", with: other.url.absoluteString)
        try await expectNoLoss(row, to: location)
        let outside = other.requests.filter { $0.method != "GET" || !$0.body.isEmpty }
        #expect(outside.isEmpty, "\(row): \(outside.map(\.method))")
      }
    }
  }

  private func expectNoLoss(_ row: Row, to location: String) async throws {
    try await MockServer.run { request in
      switch (request.method, request.target) {
      case ("GET", "/list"): .text(#"["a"]"#, fields: [("Cache-Control", "max-age=600")])
      case (_, "/posts"): row.status == 200 ? Self.page : .redirect(row.status, to: location)
      case ("GET", "/login"): Self.page
      case ("GET", "/gone"): .status(404)
      default: .text("{}")
      }
    } body: { server in
      for way in Way.allCases {
        let count = server.requests.count
        try await expectNoLoss(row, to: row.status == 200 ? nil : location, server, way)
        let requests = server.requests.dropFirst(count).filter { $0.target != "/list" }
        #expect(
          requests.map { "\($0.method) \($0.target) \(String(decoding: $0.body, as: UTF8.self))" } == row.requests,
          "\(row), \(way)")
      }
    }
  }

  private enum Way: CaseIterable { case send, mutate, submit }

  private func expectNoLoss(_ row: Row, to location: String?, _ server: MockServer, _ way: Way) async throws {
    let layer = layer(server)
    let list = layer.reactor([String].self)
    _ = try await list.fetch("list")
    let write = Resource("posts", method: row.method, body: Data("b".utf8))
    var failure: ReactorError?
    do throws(ReactorError) {
      switch way {
      case .send: try await layer.send(write)
      case .mutate: try await list.mutate("list", by: write) { $0.append("b") }
      case .submit:
        let url = server.url.appending(path: "posts")
        _ = try await layer.submit(OutboxRequest(method: row.method, url: url, body: write.body)).answer()
      }
    } catch { failure = error }
    // The result of a 303 is not the write's, which an outbox's request wants to return.
    let isUnread = way == .submit && row.location == "/gone"
    #expect((failure == nil) == (row.isDone && !isUnread), "\(row), \(way): \(String(describing: failure))")
    if !row.isDone { #expect(failure?.diverted?.target == location, "\(row), \(way)") }
    #expect(layer.outbox.entries.count == (way == .submit && !row.isDone ? 1 : 0), "\(row)")
    if way == .mutate { #expect(list.cached("list") == (row.isDone ? ["a", "b"] : ["a"]), "\(row)") }
  }

  /// A page is no answer, also if it does not begin as one.
  public func expectNoPage() async throws {
    let fields = [("Content-Type", "text/html")]
    try await MockServer.run { request in
      request.target == "/text"
        ? .text(#"{"id": 1, "text": "one"}"#, fields: fields) : .text("<p>Sign in", fields: fields)
    } body: { server in
      let notes = layer(server).reactor(Note.self)
      // Some frameworks send this type with anything.
      let text = try await notes.send(Resource("text", method: .post)).text
      #expect(text == "one")
      let failure = await error { try await notes.send(Resource("page", method: .post)) }
      #expect(failure?.diverted == ReactorError.Diverted())
    }
  }

  private func layer(_ server: MockServer) -> ModelLayer {
    var configuration = ReactorConfiguration()
    configuration.retry = .never
    return ModelLayer(baseURL: server.url, transport: transport, reachability: .always, configuration: configuration)
  }

  private static let page = MockServer.Response.text(
    "<!DOCTYPE html><p>Sign in", fields: [("Content-Type", "text/html; charset=utf-8")])
}
