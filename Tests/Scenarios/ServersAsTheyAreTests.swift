import Foundation
import HTTPTypes
import ReactorCore
import ReactorLists
import ReactorOutbox
import ReactorTesting
import TestSupport
import Testing

/// A way in which a server answers a request with validators. The guide *Servers as they are* names
/// servers of each.
enum Answering: CaseIterable {
  /// The tag is weak, and the tag of a 304 is strong: nginx with gzip.
  case weakened
  /// A 304 has no tag: flask-smorest, Squid.
  case untagged
  /// A 304 has a new `Date` and no `Age`: Traffic Server.
  case ageless
  /// There is a date and no tag: Python's server of files.
  case dated
  /// The server does not know its tag with a suffix: Apache with mod_deflate.
  case suffixed
  /// A proxy weakens the tag before a server that compares it byte for byte: nginx before h2o.
  case incomparable
  /// A date never gives a 304: the lists of Eve.
  case undated
  /// There is no validator: Datasette.
  case bare
  /// The validator is an error: Kinto behind nginx with gzip.
  case refused

  /// The answer with the note of a version.
  func answer(_ version: Int, to request: MockServer.Request) -> MockServer.Response {
    let validator = request["If-None-Match"] ?? request["If-Modified-Since"]
    if self == .refused, validator != nil { return .status(400) }
    let life = ("Cache-Control", "max-age=60")
    if let validator, validator == tag(version) ?? date(version), let fields = confirmation(version) {
      return .head(304, fields: fields + [life])
    }
    var fields = [life]
    if let tag = tag(version) { fields.append(("ETag", tag)) }
    if self == .dated || self == .undated { fields.append(("Last-Modified", date(version))) }
    if self == .ageless { fields.append(("Age", "30")) }
    return .text(Note(1, "\(version)").json, fields: fields)
  }

  private func tag(_ version: Int) -> String? {
    switch self {
    case .weakened, .incomparable, .refused: "W/\"\(version)\""
    case .suffixed: "\"\(version)-gzip\""
    case .untagged, .ageless: "\"\(version)\""
    case .dated, .undated, .bare: nil
    }
  }

  private func date(_ version: Int) -> String { "Sun, 06 Nov 1994 08:49:\(30 + version) GMT" }

  /// The fields of a 304; `nil` if the server sends none.
  private func confirmation(_ version: Int) -> [(String, String)]? {
    switch self {
    case .weakened: [("ETag", "\"\(version)\"")]
    case .untagged: []
    case .ageless: [("ETag", "\"\(version)\""), ("Date", "Sun, 06 Nov 1994 08:59:00 GMT")]
    case .dated: [("Last-Modified", date(version))]
    case .suffixed, .incomparable, .undated, .bare, .refused: nil
    }
  }
}

/// Renames the note, unless another client has changed it.
private struct Rename: Mutation {
  var text: String

  func request(_ known: Known) async throws -> Resource {
    var request = try Resource("note", method: .put, json: Note(1, text))
    request.headers[.ifMatch] = try await known.entityTag(of: "note")
    return request
  }
}

/// A program that shows one note and one list.
private struct Screen {
  let clock = TestClock()
  let layer: ModelLayer
  let notes: Reactor<Note>

  init(_ server: MockServer) {
    var configuration = ReactorConfiguration()
    configuration.clock = clock
    configuration.now = clock.wallClock
    configuration.keepUnusedFor = .never
    configuration.retry = .never
    layer = ModelLayer(
      baseURL: server.url, persistence: MemoryPersistence(), reachability: .always, configuration: configuration,
      extensions: [.outbox(OutboxConfiguration())])
    notes = layer.reactor()
  }

  var shown: LoadState<Note> { notes.states(for: "note").current }
}

/// A list of notes, two on a page, whose next page is in `Link`. A tag covers only the body, and a
/// 304 has no `Link`.
private struct Shelf {
  /// The number that makes each link new; `nil` for links that stay.
  var nonce: Int?

  func answer(_ ids: [Int], to request: MockServer.Request) -> MockServer.Response {
    let page = request.target.split(separator: "=").last.flatMap { Int($0) } ?? 1
    let rest = ids.dropFirst(2 * (page - 1))
    guard page == 1 || !rest.isEmpty else { return .status(404) }
    let tag = "\"\(rest.prefix(2).map(String.init).joined(separator: "-"))\""
    let fields = [("Cache-Control", "max-age=60"), ("ETag", tag)]
    if request["If-None-Match"] == tag { return .head(304, fields: fields) }
    let number = nonce.map { "n=\($0)&" } ?? ""
    let link = rest.count > 2 ? [("Link", "</notes?\(number)page=\(page + 1)>; rel=\"next\"")] : []
    let body = rest.prefix(2).map { Note($0, "a").json }.joined(separator: ",")
    return .text("[\(body)]", fields: fields + link)
  }
}

extension Pages<[Note]> {
  /// The ids that the list shows, page by page.
  fileprivate var ids: [[Int]] { states.current.value.map { $0.map { $0.map(\.id) } } ?? [] }
}

@Suite("A screen behind servers as they are", .timeLimit(.minutes(5)))
struct ServersAsTheyAreTests {
  private struct Timed: Codable, Sendable, Equatable {
    var id: Int
    var ms: Int
  }

  @Test(arguments: Answering.allCases)
  func `a screen shows the present value, and no new value if nothing has changed`(answering: Answering) async throws {
    let version = Shared(1)
    try await MockServer.run {
      answering.answer(version.value, to: $0)
    } body: { server async throws in
      let screen = Screen(server)
      _ = try await screen.notes.fetch("note")
      let first = screen.shown
      screen.clock.advance(by: .seconds(61))
      _ = try await screen.notes.fetch("note")
      let second = screen.shown
      #expect(second.value?.text == "1" && second.error == nil && !second.isStale)
      #expect(second.valueRevision == first.valueRevision && second.fetchedAt != first.fetchedAt)
      version.change { $0 = 2 }
      screen.clock.advance(by: .seconds(59))
      #expect(try await screen.notes.fetch("note").text == "1")
      screen.clock.advance(by: .seconds(1))
      _ = try await screen.notes.fetch("note")
      #expect(screen.shown.value?.text == "2" && screen.shown.error == nil)
      #expect(server.requests.count == (answering == .refused ? 5 : 3))
    }
  }

  @Test func `a screen shows the last 200's total if a 304 has none, and a new one after a removal`() async throws {
    let total = Shared(4)
    let field = try #require(HTTPField.Name("X-Total-Count"))
    try await MockServer.run { request in
      let fields = [("Cache-Control", "max-age=60"), ("ETag", "\"1\"")]
      return request["If-None-Match"] == nil
        ? .text(Note(1, "one").json, fields: fields + [("X-Total-Count", "\(total.value)")])
        : .head(304, fields: fields)
    } body: { server async throws in
      let screen = Screen(server)
      #expect(try await screen.notes.fetchResponse("note").headers[field] == "4")
      total.change { $0 = 5 }
      screen.clock.advance(by: .seconds(61))
      #expect(try await screen.notes.fetchResponse("note").headers[field] == "4")
      try await screen.notes.remove("note")
      #expect(try await screen.notes.fetchResponse("note").headers[field] == "5")
    }
  }

  @Test func `a screen shows a list that has grown or shrunk behind a 304 without links`() async throws {
    let ids = Shared([1, 2, 3, 4])
    try await MockServer.run {
      Shelf().answer(ids.value, to: $0)
    } body: { server async throws in
      let pages = Screen(server).layer.reactor([Note].self).pages(from: "notes")
      while try await pages.loadNext() {}
      #expect(pages.ids == [[1, 2], [3, 4]])
      ids.change { $0.append(5) }
      try await pages.refresh()
      while try await pages.loadNext() {}
      #expect(pages.ids == [[1, 2], [3, 4], [5]])
      ids.change { $0 = [1, 2] }
      try await pages.refresh()
      #expect(pages.ids == [[1, 2]] && pages.states.current.error == nil)
      #expect(pages.states.current.value?.hasNext == false)
    }
  }

  @Test func `a screen shows all pages of a list whose links are new each time`() async throws {
    let (ids, tick) = (Shared([1, 2, 3, 4]), Tick())
    try await MockServer.run {
      Shelf(nonce: tick.next()).answer(ids.value, to: $0)
    } body: { server async throws in
      let pages = Screen(server).layer.reactor([Note].self).pages(from: "notes")
      while try await pages.loadNext() {}
      #expect(pages.ids == [[1, 2], [3, 4]])
      ids.change { $0 = [1, 6, 3, 7] }
      try await pages.refresh()
      #expect(pages.ids == [[1, 6], [3, 7]] && pages.states.current.error == nil)
      #expect(pages.states.current.value?.hasNext == false)
    }
  }

  @Test func `a time in each answer is a new value only if the model has the time`() async throws {
    let tick = Tick()
    try await MockServer.run { _ in
      .text(#"{"id":1,"text":"one","ms":\#(tick.next())}"#, fields: [("Cache-Control", "max-age=60")])
    } body: { server async throws in
      let screen = Screen(server)
      let timed = screen.layer.reactor(Timed.self)
      _ = try await screen.notes.fetch("note")
      _ = try await timed.fetch("timed")
      let (note, time) = (screen.shown, timed.states(for: "timed").current)
      screen.clock.advance(by: .seconds(61))
      _ = try await screen.notes.fetch("note")
      _ = try await timed.fetch("timed")
      #expect(screen.shown.valueRevision == note.valueRevision)
      #expect(timed.states(for: "timed").current.valueRevision > time.valueRevision)
    }
  }

  @Test(arguments: [(nil, nil, "1"), ("120", nil, "2"), (nil, 10, "2")] as [(String?, Int?, String)])
  func `a screen shows a cache's copy for the rest of its lifetime, or as the resource says`(
    age: String?, lifetime: Int?, shown: String
  ) async throws {
    let tick = Tick()
    try await MockServer.run { _ in
      .text(
        Note(1, "\(tick.next())").json,
        fields: [("Cache-Control", "max-age=60")] + (age.map { [("Age", $0)] } ?? []))
    } body: { server async throws in
      let screen = Screen(server)
      var note: Resource = "note"
      note.freshFor = lifetime.map { .seconds($0) }
      _ = try await screen.notes.fetch(note)
      screen.clock.advance(by: .seconds(59))
      _ = try await screen.notes.fetch(note)
      #expect(screen.notes.states(for: note).current.value?.text == shown)
    }
  }

  @Test func `a screen shows the server's value after a write whose condition it ignored`() async throws {
    let (text, conditions) = (Shared("one"), Shared<[String?]>([]))
    try await MockServer.run { request in
      guard request.method == "PUT" else {
        return .text(
          Note(1, text.value).json, fields: [("Cache-Control", "max-age=60"), ("ETag", "\"\(text.value)\"")])
      }
      conditions.change { $0.append(request["If-Match"]) }
      text.change { $0 = "mine" }
      return .status(204)
    } body: { server async throws in
      let screen = Screen(server)
      #expect(try await screen.notes.fetch("note").text == "one")
      text.change { $0 = "theirs" }
      _ = try await screen.layer.submit(Rename(text: "mine")).answer()
      #expect(conditions.value == ["\"one\""])
      _ = try await screen.notes.fetch("note")
      #expect(screen.shown.value?.text == "mine" && screen.shown.error == nil)
    }
  }
}
