import HTTPTypes
import ReactorCore
import ReactorTesting
import ReactorWrites
import TestSupport

/// A server with one list of notes, whose answers to changes wait at gates.
struct NotesDesk: Sendable {
  let bench: Bench
  let list = Resource("list")
  let notes: Reactor<[String]>

  init(
    _ bench: Bench = Bench(except: [.ownSteps]), base: [String] = ["a"],
    _ fields: HTTPFields = [.cacheControl: "max-age=600"]
  ) async throws {
    self.bench = bench
    notes = bench.layer.reactor()
    bench.transport.answer("/v1/list", with: Self.answer(base, fields))
    _ = try await notes.fetch(list)
  }

  static func answer(_ list: [String], _ fields: HTTPFields = [.cacheControl: "max-age=600"])
    -> ScriptedTransport.Answer
  {
    .json("[\(list.map { "\"\($0)\"" }.joined(separator: ","))]", fields: fields)
  }

  /// Adds `name`, with an answer of the path `name`.
  func add(_ name: String) -> Task<Void, any Error> {
    Task { [notes, list] in
      try await notes.mutate(list, by: Resource(name, method: .post)) { value in
        if !value.contains(name) { value.append(name) }
      }
    }
  }

  /// Adds `name`, and returns once the server has the request.
  func begin(_ name: String, _ answer: ScriptedTransport.Answer, count: Int) async throws -> (
    Task<Void, any Error>, Gate
  ) {
    let gate = Gate()
    bench.transport.answer("/v1/\(name)", with: answer.held(at: gate))
    let task = add(name)
    try await bench.transport.waitForRequests(count: count)
    return (task, gate)
  }

  /// Fetches the list when its copy is stale, and returns once the flight has asked the disk.
  func read() async throws -> Task<[String], any Error> {
    bench.clock.advance(by: .seconds(601))
    let read = Task { [notes, list] in try await notes.fetch(list) }
    try await bench.log.wait(for: .persistenceHit)
    return read
  }

  var shown: [String]? { notes.cached(list) }
  var confirmed: [String]? { notes.confirmed(list) }

  /// Returns the stored body of the list; `nil` without a record.
  func stored() async throws -> String? {
    let entries = try await bench.persistence?.entries(in: nil, url: nil) ?? []
    guard let key = entries.first(where: { $0.key.url.hasSuffix("/list") })?.key else { return nil }
    return try await bench.persistence?.load(key).map { String(decoding: $0.body, as: UTF8.self) }
  }
}

extension ScriptedTransport.Answer {
  static var accepted: Self { .response(.noContent) }
  static var refused: Self { .response(.unprocessableContent) }
}
