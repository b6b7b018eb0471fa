import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// Follows the redirects that a script answers with.
private struct Following: Transport {
  let script: ScriptedTransport
  var limit = 5

  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    try await Redirect.following(request, body: body, limit: limit) {
      try await script.send($0, body: $1, progress: progress)
    }
  }
}

/// Saves nothing for a task that is cancelled.
private struct Heeding: Persistence {
  let base = MemoryPersistence()
  let attempts = Shared(0)
  let sixth = Latch()

  func load(_ key: RecordKey) async throws -> Record? { try await base.load(key) }

  func save(_ record: Record, for key: RecordKey) async throws {
    defer {
      if attempts.change({
        $0 += 1; return $0
      }) == 6 {
        sixth.open()
      }
    }
    try Task.checkCancellation()
    try await base.save(record, for: key)
  }

  func remove(_ key: RecordKey) async throws { try await base.remove(key) }
  func removeAll(in scope: Scope?) async throws { try await base.removeAll(in: scope) }
  func entries(in scope: Scope?, url: String?) async throws -> [Record.Entry] {
    try await base.entries(in: scope, url: url)
  }
}

@Suite(.timeLimit(.minutes(5))) struct `A change whose redirect is followed` {
  typealias Answer = ScriptedTransport.Answer

  private let script = ScriptedTransport()
  private let persistence = Heeding()

  private func layer(_ limit: Int = 5) -> ModelLayer {
    var configuration = ReactorConfiguration()
    configuration.retry = .never
    configuration.keepUnusedFor = .never
    return ModelLayer(
      baseURL: Bench.url, transport: Following(script: script, limit: limit), persistence: persistence,
      reachability: .always, configuration: configuration)
  }

  private static let paths = ["note", "there", "named", "other"]

  private func store(_ notes: Reactor<Note>) async throws {
    for path in Self.paths {
      script.answer("/v1/\(path)", with: .json(Note(1, path).json))
      _ = try await notes.fetch(Resource(path))
    }
  }

  /// Returns the paths that are requested again, by this layer and by a later one.
  private func stale(_ notes: Reactor<Note>) async throws -> [[String]] {
    for path in Self.paths { script.answer("/v1/\(path)", with: .failure(URLError(.badServerResponse))) }
    var stale: [[String]] = []
    for notes in [notes, layer().reactor(Note.self)] {
      var paths: [String] = []
      for path in Self.paths where await (try? notes.fetch(Resource(path))) == nil { paths.append(path) }
      stale.append(paths)
    }
    return stale
  }

  private func redirect(_ status: Int, to location: String, naming name: String? = nil) -> Answer {
    var fields: HTTPFields = [.location: location]
    fields[.contentLocation] = name
    return .response(HTTPResponse.Status(code: status), fields: fields)
  }

  @Test(
    arguments: [
      .response(.notFound), .response(.internalServerError), .failure(ReactorError.timedOut), .json("no note"),
      .json(Note(1, "new").json),
    ] as [Answer])
  func `a redirected change was carried out, even if fetching its result fails`(last: Answer) async throws {
    let notes = layer().reactor(Note.self)
    try await store(notes)
    script.answer("/v1/note", with: redirect(303, to: "there", naming: "named"))
    script.answer("/v1/there", with: last)
    _ = try? await notes.send(Resource("note", method: .post))
    #expect(try await stale(notes) == [["note", "there", "named"], ["note", "there", "named"]])
  }

  @Test func `a redirected change makes the redirect's target stale, and the URLs that it names`() async throws {
    let notes = layer().reactor(Note.self)
    try await store(notes)
    script.answer("/v1/note", with: redirect(308, to: "there"))
    script.answer("/v1/there", with: .json(Note(1, "new").json, fields: [.contentLocation: "named"]))
    _ = try await notes.send(Resource("note", method: .put))
    #expect(try await stale(notes) == [["note", "there", "named"], ["note", "there", "named"]])
  }

  @Test func `a change whose redirect is followed has been made, though too many redirects follow`() async throws {
    let notes = layer(1).reactor(Note.self)
    try await store(notes)
    script.answer("/v1/note", with: redirect(307, to: "there"))
    script.answer("/v1/there", with: redirect(307, to: "named"))
    await #expect(throws: ReactorError.self) { try await notes.send(Resource("note", method: .put)) }
    #expect(try await stale(notes) == [["note", "there", "named"], ["note", "there", "named"]])
  }

  @Test func `a change whose redirect is followed has been made, though it is cancelled then`() async throws {
    let notes = layer().reactor(Note.self)
    try await store(notes)
    let gate = Gate()
    script.answer("/v1/note", with: redirect(303, to: "there"))
    script.answer("/v1/there", with: .json(Note(1, "new").json).held(at: gate))
    let task = Task { try await notes.send(Resource("note", method: .post)) }
    try await gate.waitForArrival()
    task.cancel()
    await #expect(throws: ReactorError.self) { try await task.value }
    // Four were stored, and two are declared stale.
    try await persistence.sixth.wait()
    #expect(try await stale(notes) == [["note", "there"], ["note", "there"]])
    try await script.waitUntilIdle()
  }

  @Test func `a change is not sent to another origin, and fails with the redirect's target`() async throws {
    let notes = layer().reactor(Note.self)
    try await store(notes)
    script.answer("/v1/note", with: redirect(307, to: "https://elsewhere.example/moved", naming: "there"))
    let error = await TestSupport.error { try await notes.send(Resource("note", method: .put)) }
    #expect(error?.diverted?.target == "https://elsewhere.example/moved")
    #expect(script.requests.allSatisfy { $0.path != "/moved" })
    #expect(try await stale(notes) == [["note", "there"], ["note", "there"]])
  }

  @Test func `a change makes the URLs that its answer names stale, even if they cannot be read`() async throws {
    let notes = layer().reactor(Note.self)
    try await store(notes)
    script.answer("/v1/note", with: .json("", status: .created, fields: [.location: "named"]))
    await #expect(throws: ReactorError.self) { try await notes.send(Resource("note", method: .post)) }
    #expect(try await stale(notes) == [["note", "named"], ["note", "named"]])
  }

  @Test func `a change may have any method if its resource is not read-only`() async throws {
    let notes = layer().reactor(Note.self)
    try await store(notes)
    script.answer("/v1/note", with: redirect(303, to: "there"))
    script.answer("/v1/there", with: .response(.notFound))
    var resource = Resource("note")
    resource.isReadOnly = false
    await #expect(throws: ReactorError.self) { try await notes.send(resource) }
    #expect(try await stale(notes) == [["note"], ["note"]])
  }

  @Test func `a change whose redirect is followed that is refused changes nothing`() async throws {
    let notes = layer().reactor(Note.self)
    try await store(notes)
    script.answer("/v1/note", with: .response(.conflict, fields: [.location: "named"]))
    await #expect(throws: ReactorError.self) { try await notes.send(Resource("note", method: .put)) }
    script.answer("/v1/note", with: .json(Note(1, "note").json))
    #expect(try await notes.fetch("note").text == "note")
    #expect(script.requestCount == Self.paths.count + 1)
  }
}
