import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorInspector

extension Inspector {
  /// An inspector in the test's own time.
  convenience init(_ bench: Bench) {
    self.init(clock: bench.clock, now: bench.clock.wallClock)
    show(bench.layer)
  }

  func get(_ path: String, host: String? = "localhost:8080") async -> (response: HTTPResponse, body: InspectorBody) {
    await respond(to: HTTPRequest(method: .get, scheme: "http", authority: host, path: path))
  }

  /// As the page asks for a change.
  func post(_ path: String, token: String? = nil, _ fields: [String: String] = [:]) async -> HTTPResponse {
    var request = HTTPRequest(method: .post, scheme: "http", authority: "localhost:8080", path: path)
    let token = if let token { token } else { await self.token() }
    for (name, value) in fields.merging([Admission.tokenField: token], uniquingKeysWith: { own, _ in own }) {
      if let name = HTTPField.Name(name), !value.isEmpty { request.headerFields[name] = value }
    }
    return await respond(to: request).response
  }

  /// Returns the token in the page.
  func token() async -> String {
    let page = await text(get("/inspector").body)
    return page.firstMatch(of: /reactor-token" content="([0-9a-f]*)"/).map { String($0.output.1) } ?? ""
  }

  func live() async -> InspectorBody.Iterator { await get("/inspector/live").body.makeAsyncIterator() }
}

/// All of a body that ends.
func text(_ body: InspectorBody) async -> String {
  var text = ""
  for await piece in body { text += String(decoding: piece, as: UTF8.self) }
  return text
}

/// The writes of a frame as the page reads them.
struct ReadWrites: Decodable, Equatable {
  struct Row: Decodable, Equatable {
    var id: String
    var layer: Int
    var lane: String
    var name: String
    var tag: String
    var state: String
    var reason: String?
    var until: Double?
    var attempts: Int
    var method: String?
    var url: String?
    var status: Int?
    var submittedAt: Double?
    var commands: [String]
  }

  var hasOutbox: Bool
  var count: Int
  var rows: [Row]
}

/// A frame as the page reads it.
struct ReadFrame: Decodable {
  struct Row: Decodable {
    var id: String
    var key: String
    var model: String
    var state: String
    var origin: String?
    var age: Double?
    var lifetime: Double?
    var bytes: Int
    var observers: Int
    var phase: String?
    var hasFailed: Bool
  }

  struct Counts: Decodable {
    var events: Int
    var hits: Int
    var requests: Int
    var notModified: Int
    var failures: Int
  }

  struct Event: Decodable {
    var name: String
  }

  struct LoggedEvent: Decodable {
    var id: String
    var event: Event
  }

  struct Action: Decodable {
    var kind: String
    var name: String
    var payload: String?
    var error: String?
    var fields: [Field]
  }

  struct Field: Decodable {
    var store: String
    var path: String
    var kind: String
    var before: String?
    var after: String?
  }

  var isFirst: Bool
  var isOffline: Bool
  var hasFlux: Bool
  var rows: [Row]
  var totals: Counts
  var events: [LoggedEvent]
  var actions: [Action]
  var writes: ReadWrites?

  init(_ data: Data) throws {
    let text = String(decoding: data, as: UTF8.self)
    let json = try #require(text.wholeMatch(of: /data: (.*)\n\n/.dotMatchesNewlines())).output.1
    self = try JSONDecoder().decode(ReadFrame.self, from: Data(json.utf8))
  }
}

extension InspectorBody.Iterator {
  mutating func frame() async throws -> ReadFrame { try ReadFrame(#require(await next())) }

  /// The frame that comes once the time between two has passed.
  mutating func frame(after clock: TestClock) async throws -> ReadFrame {
    async let passed: Void = {
      try await clock.waitForSleepers()
      clock.advance(by: LiveFeed.interval)
    }()
    let frame = try await frame()
    try await passed
    return frame
  }
}
