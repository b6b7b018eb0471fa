import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization
import TestSupport
import Testing

@testable import ReactorOutbox

/// A server with one list, which others change, and a way of giving entity tags.
private final class TagServer: Sendable {
  enum Tags: CaseIterable {
    case strong
    /// As nginx does with gzip.
    case weakIfCoded
    /// As Apache's mod_deflate does.
    case namedAfterCoding
    case none
  }

  private struct State {
    var list = ["a"]
    var version = 1
    var puts: [String?] = []
    var gets = 0
    /// The names that others add, one before each of the next writes.
    var others: [String] = []
  }

  private let state = Mutex(State())
  let tags: Tags
  let cacheControl: String

  init(_ tags: Tags, _ cacheControl: String = "no-store", others: String...) {
    (self.tags, self.cacheControl) = (tags, cacheControl)
    state.withLock { $0.others = others }
  }

  var list: [String] { state.withLock(\.list) }
  var puts: [String?] { state.withLock(\.puts) }
  var gets: Int { state.withLock(\.gets) }

  @Sendable func answer(_ request: HTTPRequest, _ body: Data?) async throws -> ScriptedTransport.Answer {
    try state.withLock { state in
      guard request.method == .put || request.method == .patch else {
        state.gets += 1
        var fields: HTTPFields = [.cacheControl: cacheControl, .vary: "Accept-Encoding"]
        fields[.eTag] = tag(state.version, isCoded: request.headerFields[.acceptEncoding] != "identity")
        // A condition with the tag of a coded answer holds for reads.
        if let tag = fields[.eTag], request.headerFields[.ifNoneMatch] == tag {
          return .response(.notModified, fields: fields)
        }
        return Writer.answer(state.list, fields)
      }
      state.puts.append(request.headerFields[.ifMatch])
      if !state.others.isEmpty { change(&state) { [name = state.others.removeFirst()] in $0.append(name) } }
      guard request.headerFields[.ifMatch] == "\"\(state.version)\"" else { return .response(.preconditionFailed) }
      let new = try JSONDecoder().decode([String].self, from: body ?? Data())
      change(&state) { $0 = new }
      return .response(.noContent)
    }
  }

  private func change(_ state: inout State, _ body: (inout [String]) -> Void) {
    body(&state.list)
    state.version += 1
  }

  private func tag(_ version: Int, isCoded: Bool) -> String? {
    switch tags {
    case .strong: "\"\(version)\""
    case .weakIfCoded: isCoded ? "W/\"\(version)\"" : "\"\(version)\""
    case .namedAfterCoding: isCoded ? "\"\(version)-gzip\"" : "\"\(version)\""
    case .none: nil
    }
  }
}

/// Replaces the list, and leaves conflicts to the program.
private struct Asking: Mutation {
  static let onConflict = ConflictPolicy.ask
  var name: String

  func request(_ known: Known) async throws -> Resource {
    let list = await known.value([String].self, at: "list") ?? []
    var request = try Resource("list", method: .put, json: list + [name])
    request.headers[.ifMatch] = try await known.entityTag(of: "list")
    return request
  }
}

/// Reads the tag before the value.
private struct TagFirst: Mutation {
  func request(_ known: Known) async throws -> Resource {
    let tag = try await known.entityTag(of: "list")
    let list = await known.value([String].self, at: "list") ?? []
    var request = try Resource("list", method: .put, json: list + ["b"])
    request.headers[.ifMatch] = tag
    return request
  }
}

@Suite("A write that is guarded by an entity tag", .timeLimit(.minutes(5)))
struct OptimisticLockingTests {
  private func writer(
    _ server: TagServer, isPersistent: Bool = false, storage: any OutboxStorage = MemoryOutboxStorage()
  ) -> Writer {
    let transport = ScriptedTransport(handler: server.answer)
    let bench =
      isPersistent ? Bench(transport: transport) : Bench(persistence: nil, transport: transport)
    return Writer(storage: storage, on: bench) { $0.mutations += [Asking.self, TagFirst.self] }
  }

  @Test(arguments: [TagServer.Tags.strong, .weakIfCoded, .namedAfterCoding], [false, true])
  fileprivate func `a write with If-Match overwrites no change by others`(
    tags: TagServer.Tags, isStored: Bool
  ) async throws {
    let server = TagServer(tags, isStored ? "max-age=600" : "no-store", others: "x")
    let writer = writer(server, isPersistent: isStored)
    _ = try await writer.notes.fetch("list")
    _ = try await writer.layer.submit(Append(name: "b")).answer()
    #expect(server.list == ["a", "x", "b"])
    #expect(server.puts == ["\"1\"", "\"2\""])
    if tags == .strong { #expect(server.gets == (isStored ? 2 : 3)) }
    try await writer.end()
  }

  @Test func `after a conflict, a write has the fetched tag, even if a screen shows an older value`()
    async throws
  {
    let server = TagServer(.strong, others: "x")
    let writer = writer(server)
    var states = writer.notes.states(for: "list").makeAsyncIterator()
    while let state = await states.next(), state.value == nil {}
    _ = try await writer.layer.submit(Append(name: "b")).answer()
    #expect(server.list == ["a", "x", "b"])
    #expect(server.puts.count == 2)
  }

  @Test func `a request is made again if the value was read before the tag was known`() async throws {
    let server = TagServer(.strong)
    let writer = writer(server)
    _ = try await writer.layer.submit(Append(name: "b")).answer()
    #expect(server.list == ["a", "b"])
    #expect(server.gets == 1)
    try await writer.end()
  }

  @Test(arguments: [TagServer.Tags.strong, .weakIfCoded, .namedAfterCoding])
  fileprivate func `a write has the tag of its value, whichever it reads first`(tags: TagServer.Tags) async throws {
    let server = TagServer(tags, others: "x")
    let writer = writer(server)
    _ = try await writer.layer.submit(TagFirst()).answer()
    #expect(server.list == ["a", "x", "b"])
    try await writer.end()
  }

  @Test func `a write is refused, and not sent, if the server gives no tag`() async throws {
    let server = TagServer(.none)
    let writer = writer(server)
    _ = try await writer.notes.fetch("list")
    let submission = try await writer.layer.submit(Append(name: "b"))
    let error = await TestSupport.error { try await submission.answer() }
    guard case .network(MutationError.noEntityTag) = error else {
      return #expect(Bool(false), "\(String(describing: error))")
    }
    #expect(error?.description.contains("no strong ETag for GET list") == true)
    #expect(server.puts.isEmpty)
    #expect(server.gets == 2)
    #expect(writer.states == ["refused"])
    try await writer.end()
  }

  @Test func `a retried write is made from newer values, also in the next process`() async throws {
    let server = TagServer(.strong, "max-age=600", others: "x", "y")
    let first = writer(server, isPersistent: true, storage: MemoryStore())
    _ = try await first.notes.fetch("list")
    let id = try await first.layer.submit(Asking(name: "b")).id
    await first.wait(for: "conflicted")
    #expect(await first.outbox.retry(id))
    await first.wait(for: "conflicted")
    #expect(server.puts == ["\"1\"", "\"2\""])
    let next = first.relaunched { $0.mutations.append(Asking.self) }
    await next.wait(for: "conflicted")
    #expect(await next.outbox.retry(id))
    await next.wait()
    #expect(server.list == ["a", "x", "y", "b"])
    try await next.end()
  }

  @Test(arguments: [
    ("\"1\"", true), ("\"gzip\"", true), ("\"a-b\"", true), ("\"\"", true), ("W/\"1\"", false), ("\"1-gzip\"", false),
    ("\"1--gzip\"", false), ("\"1;br\"", false), ("\"abc-zstd\"", false), ("1", false), ("", false),
  ])
  func `a tag guards a write unless it is weak or names a coding`(tag: String, guards: Bool) {
    #expect(tag.isTagOfUncodedContent == guards)
  }
}
