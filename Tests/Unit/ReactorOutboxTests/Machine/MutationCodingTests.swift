import Foundation
import HTTPTypes
import ReactorCore
import Synchronization
import Testing

@testable import ReactorOutbox

@Suite struct `The saved form of a mutation` {
  private func box(
    _ name: String, version: Int = 1, _ json: String, types: [any Mutation.Type] = [Plain.self, Renamed.self]
  ) throws(MutationError) -> MutationBox {
    var entry = OutboxEntry.numbered(1, json)
    entry.name = name
    entry.version = version
    return try MutationBox(entry, types: Dictionary(types.map { ($0.name, $0) }) { first, _ in first })
  }

  @Test func `the saved form of a mutation has the type's name, unless the type says another`() {
    #expect(Plain.name == "Plain")
    #expect(Renamed.name == "rename")
    #expect(Plain.version == 1 && Renamed.version == 3)
    #expect(Plain(title: "").lane == .main)
    #expect(Plain.onConflict == .rebase)
  }

  @Test func `the saved form of a mutation is JSON, the same each time`() throws {
    let mutation = Plain(title: "a/b \"ü\"", tags: ["z", "a"])
    let json = try MutationBox.encode(mutation)
    #expect(String(decoding: json, as: UTF8.self) == #"{"tags":["z","a"],"title":"a/b \"ü\""}"#)
    #expect(try MutationBox.encode(mutation) == json)
    #expect(try box("Plain", String(decoding: json, as: UTF8.self)).value as? Plain == mutation)
  }

  @Test func `the saved form of a mutation is of the type that has the name`() throws {
    #expect(try box("Plain", #"{"title":"a","tags":[]}"#).value as? Plain == Plain(title: "a"))
    #expect(try box("rename", version: 3, #"{"title":"a"}"#).value as? Renamed == Renamed(title: "a"))
  }

  @Test func `the saved form of a mutation is not read without a type of its name`() {
    #expect(throws: MutationError.unknownName("Gone")) { try box("Gone", "{}") }
    #expect(throws: MutationError.unknownName("Plain")) { try box("Plain", "{}", types: [Renamed.self]) }
    #expect(throws: MutationError.unknownName("Renamed")) { try box("Renamed", "{}") }
  }

  @Test(arguments: ["{}", #"{"title":1,"tags":[]}"#, "", "[]", #"{"title":"#, "null"])
  func `the saved form of a mutation is not read where it does not fit its type`(_ json: String) {
    let error = #expect(throws: MutationError.self) { try box("Plain", json) }
    guard case .notCodable("Plain", let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(!reason.isEmpty)
  }

  @Test func `the saved form of a mutation is migrated from an earlier version`() throws {
    #expect(try box("rename", version: 1, #"{"name":"a"}"#).value as? Renamed == Renamed(title: "a"))
    #expect(try box("rename", version: 2, #"{"headline":"a"}"#).value as? Renamed == Renamed(title: "a"))
    #expect(Renamed.migrations.withLock { $0 } == [1, 2])
  }

  @Test func `the saved form of a mutation is not read where there is no migration`() {
    #expect(throws: MutationError.noMigration(name: "Plain", from: 0, to: 1)) { try box("Plain", version: 0, "{}") }
    #expect(throws: MutationError.noMigration(name: "rename", from: 0, to: 3)) { try box("rename", version: 0, "{}") }
  }

  @Test(arguments: [4, Int.max]) func `a saved mutation of a later version is not migrated`(_ version: Int) {
    #expect(throws: MutationError.noMigration(name: "rename", from: version, to: 3)) {
      try box("rename", version: version, #"{"title":"a"}"#)
    }
    #expect(!Renamed.migrations.withLock { $0 }.contains(version))
  }

  @Test func `the saved form of a mutation is not read where its migration makes something else of it`() {
    let error = #expect(throws: MutationError.self) { try box("rename", version: 1, "{}") }
    guard case .notCodable("rename", _)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(throws: MutationError.self) { try box("rename", version: 2, "no JSON") }
  }

  @Test func `the saved form of a mutation is an error where it cannot be encoded`() {
    let error = #expect(throws: ReactorError.self) { try MutationBox.encode(Measured(value: .nan)) }
    guard case .invalidResource(let text)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(text.contains("Measured") && !text.contains("Measured(value"))
  }

  @Test func `a saved OutboxRequest needs no registered type`() throws {
    let request = try box(RequestMutation.name, "{}", types: [])
    #expect(request.keepsRequest && request.onConflict == .refuse)
    #expect(request.drafts.changes.isEmpty)
    #expect(try !box("Plain", #"{"title":"a","tags":[]}"#).keepsRequest)
  }

  @Test(arguments: [
    MutationError.noMigration(name: "n", from: 1, to: 2), .unknownName("n"), .notCodable(name: "n", reason: "r"),
    .missingIdentity("i"), .expired, .tooManyConflicts(6), .endedElsewhere, .noEntityTag(of: "r"), .awaitsTurn("l"),
  ])
  func `the saved form of a mutation has an error that says what is wrong`(_ error: MutationError) {
    #expect(error.description.count > 20)
    #expect(!"\(error)".contains("MutationError"))
  }
}

@Suite struct `The answer to an accepted mutation` {
  private func settle(
    _ mutation: some Mutation, _ result: Result<(HTTPResponse, Data), ReactorError>
  ) -> (answer: Result<any Sendable, ReactorError>, settlement: Settlement) {
    let box = MutationBox(mutation)
    let answer = box.answer(result, ReactorConfiguration())
    return (answer.result, box.settlement(of: answer))
  }

  private func response(_ status: HTTPResponse.Status, _ body: String) -> Result<(HTTPResponse, Data), ReactorError> {
    .success((HTTPResponse(status: status, headerFields: [.contentType: "application/json"]), Data(body.utf8)))
  }

  @Test func `the answer to an accepted mutation is parsed and settled`() throws {
    let (answer, settlement) = settle(Answered(), response(.ok, #"["7"]"#))
    #expect(try answer.get() as? [String] == ["7"])
    #expect(settlement.invalidated == [.under("7")])
    #expect(settlement.keepsDraft == .seconds(5))
  }

  @Test func `the answer to an accepted mutation is an error where it cannot be parsed, and settles nothing`() {
    let (answer, settlement) = settle(Answered(), response(.ok, "no JSON"))
    #expect(throws: ReactorError.self) { try answer.get() }
    guard case .failure(.parser) = answer else { return #expect(Bool(false)) }
    #expect(settlement.invalidated.isEmpty)
  }

  @Test func `the answer to an accepted mutation is not read from the body of an error`() {
    // A DELETE that an earlier attempt has carried out.
    let (answer, settlement) = settle(Answered(), response(.notFound, #"["7"]"#))
    guard case .failure(.server(let response, _)) = answer else { return #expect(Bool(false)) }
    #expect(response.status == .notFound)
    #expect(settlement.invalidated.isEmpty)
  }

  @Test(arguments: [nil, HTTPResponse.Status.notFound, .ok])
  func `an answer type of Void ignores the response, whatever it is`(_ status: HTTPResponse.Status?) throws {
    let (answer, _) = settle(
      Plain(title: ""), status.map { response($0, "<html>") } ?? .failure(.network(CocoaError(.fileNoSuchFile))))
    #expect(try answer.get() is Void)
  }
}

private struct Plain: Mutation, Equatable {
  var title: String
  var tags: [String] = []
  func request(_ known: Known) -> Resource { Resource("plain", method: .post) }
}

private struct Renamed: Mutation, Equatable {
  static let migrations = Mutex<[Int]>([])
  static var name: String { "rename" }
  static var version: Int { 3 }
  var title: String

  func request(_ known: Known) -> Resource { Resource("plain", method: .post) }

  static func migrate(_ saved: JSONValue, from version: Int) throws -> JSONValue {
    switch version {
    case 1:
      if saved != [:] { migrations.withLock { $0.append(1) } }
      return ["title": try saved.value("name")]
    case 2:
      migrations.withLock { $0.append(2) }
      return ["title": try saved.value("headline")]
    case 4...:
      migrations.withLock { $0.append(version) }
      return saved
    default: throw MutationError.noMigration(name: name, from: version, to: Self.version)
    }
  }
}

private struct Measured: Mutation {
  var value: Double
  func request(_ known: Known) -> Resource { Resource("plain", method: .post) }
}

private struct Answered: Mutation {
  typealias Answer = [String]
  func request(_ known: Known) -> Resource { Resource("plain", method: .post) }
  func settle(_ answer: [String], _ settlement: inout Settlement) {
    for path in answer { settlement.invalidate(.under(path)) }
    settlement.keepDraft(for: .seconds(5))
  }
}
