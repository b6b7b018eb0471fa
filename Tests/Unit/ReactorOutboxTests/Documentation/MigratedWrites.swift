import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox
import ReactorTesting
import Testing

// The Swift code of the sections on writes of Documentation/MigratingFromReactor1.md and
// MigratingFromJBFlux.md, which a test compares with it.

private struct Author: Codable, Sendable, Equatable {
  let name: String
}

private struct Rename: Mutation {
  typealias Answer = Author
  var name: String
  var lane: Lane { "author" }

  func request(_ known: Known) throws -> Resource { try Resource("author", method: .put, json: ["name": name]) }

  func draft(_ drafts: inout Drafts) {
    drafts.change(Author.self, at: "author") { [name] author in author = Author(name: name) }
  }
}

struct User: Codable, Sendable, Equatable {
  var name: String
}

struct RenameUser: Mutation {
  typealias Answer = User
  var name: String

  func request(_ known: Known) throws -> Resource { try Resource("user", method: .put, json: ["name": name]) }

  func draft(_ drafts: inout Drafts) {
    drafts.change(User.self, at: "user") { [name] user in user.name = name }
  }
}

extension ModelLayer {
  func rename(_ name: String) async throws -> User { try await submit(RenameUser(name: name)).answer() }
}

private func submit(_ api: URL, _ directory: URL, _ store: any Persistence) async throws -> Author {
  let outbox = OutboxConfiguration(
    storage: FileOutboxStorage(directory: directory), mutations: [Rename.self])
  let layer = ModelLayer(baseURL: api, persistence: store, extensions: [.outbox(outbox)])
  let submission = try await layer.submit(Rename(name: "Ada"))
  let author = try await submission.answer()
  return author
}

@Suite("Migrated writes") struct MigratedWritesTests {
  private let transport = ScriptedTransport()
  private let layer: ModelLayer

  // A loopback host, so that the machine's connectivity does not matter.
  init() throws {
    let outbox = OutboxConfiguration(storage: MemoryOutboxStorage(), mutations: [Rename.self, RenameUser.self])
    layer = ModelLayer(
      baseURL: try #require(URL(string: "http://localhost/v1")), transport: transport, extensions: [.outbox(outbox)])
  }

  @Test func `a submitted change is shown at once, and answered later`() async throws {
    let gate = Gate()
    transport.answer("/v1/author", with: .json(#"{"name":"Grace"}"#), .json(#"{"name":"Ada"}"#).held(at: gate))
    let authors = layer.reactor(Author.self)
    #expect(try await authors.fetch("author").name == "Grace")
    let submission = try await layer.submit(Rename(name: "Ada"))
    #expect(authors.cached("author")?.name == "Ada")
    #expect(authors.confirmed("author")?.name == "Grace")
    gate.open()
    #expect(try await submission.answer() == Author(name: "Ada"))
    #expect(layer.outbox.entries.isEmpty)
  }

  @Test func `a refused change needs no rollback, and stays listed`() async throws {
    transport.answer("/v1/user", with: .json(#"{"name":"Grace"}"#), .response(.unprocessableContent))
    let users = layer.reactor(User.self)
    #expect(try await users.fetch("user").name == "Grace")
    await #expect(throws: ReactorError.self) { try await layer.rename("Ada") }
    #expect(users.cached("user")?.name == "Grace")
    #expect(layer.outbox.entries.map(\.name) == ["RenameUser"])
  }
}
