import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox
import ReactorTesting
import Synchronization
import TestSupport
import Testing

/// Adds a name to a list, by a POST of the name's path.
struct Add: Mutation, Equatable {
  typealias Answer = String

  var name: String
  var list = "list"
  var lane: Lane = .main

  func request(_ known: Known) throws -> Resource { Resource(name, method: .post, body: Data(name.utf8)) }

  func draft(_ drafts: inout Drafts) {
    drafts.change([String].self, at: Resource(list)) { [name] in if !$0.contains(name) { $0.append(name) } }
  }
}

/// Replaces a list by a PUT with `If-Match`.
struct Append: Mutation {
  var name: String

  func request(_ known: Known) async throws -> Resource {
    let list = await known.value([String].self, at: "list") ?? []
    var request = try Resource("list", method: .put, json: list)
    request.headers[.ifMatch] = try await known.entityTag(of: "list")
    return request
  }

  func draft(_ drafts: inout Drafts) {
    drafts.change([String].self, at: "list") { [name] in if !$0.contains(name) { $0.append(name) } }
  }
}

/// A program with an outbox, over scripted parts.
struct Writer: Sendable {
  let bench: Bench
  let layer: ModelLayer
  let log: EventRecorder
  let list = Resource("list")
  let notes: Reactor<[String]>
  let storage: any OutboxStorage

  var transport: ScriptedTransport { bench.transport }
  var clock: TestClock { bench.clock }
  var outbox: Outbox { layer.outbox }

  init(
    storage: any OutboxStorage = MemoryOutboxStorage(), on bench: Bench = Bench(), scope: Scope = .shared,
    authentication: (any TransportMiddleware)? = nil, followsRedirects: Bool = false,
    _ configure: (inout OutboxConfiguration) -> Void = { _ in },
    configuring: (inout ReactorConfiguration) -> Void = { _ in }
  ) {
    self.bench = bench
    self.storage = storage
    var configuration = ReactorConfiguration()
    configuration.clock = bench.clock
    configuration.now = bench.clock.wallClock
    configuration.keepUnusedFor = .never
    configuration.retry = .never
    configuring(&configuration)
    var outbox = OutboxConfiguration(
      storage: storage, mutations: [Add.self, Append.self, AddItem.self, RenameItem.self])
    outbox.retry.seed = 7
    configure(&outbox)
    layer = ModelLayer(
      backend: Backend(
        baseURL: Bench.url, transport: followsRedirects ? Following(transport: bench.transport) : bench.transport,
        authentication: authentication,
        reachability: bench.reachability),
      persistence: bench.persistence, scope: scope, configuration: configuration, extensions: [.outbox(outbox)])
    log = EventRecorder(layer, except: [.ownSteps])
    notes = layer.reactor()
  }

  /// The program started again: the same disk, server and time.
  func relaunched(scope: Scope = .shared, _ configure: (inout OutboxConfiguration) -> Void = { _ in }) -> Writer {
    Writer(storage: (storage as? MemoryStore)?.reopened() ?? storage, on: bench, scope: scope, configure)
  }

  /// Fetches the list with these names.
  func fetch(_ names: String..., fields: HTTPFields = [.cacheControl: "max-age=600"]) async throws {
    transport.answer("/v1/list", with: Self.answer(names, fields))
    _ = try await notes.fetch(list)
  }

  static func answer(
    _ list: [String], _ fields: HTTPFields = [.cacheControl: "max-age=600"]
  ) -> ScriptedTransport.Answer {
    .json("[\(list.map { "\"\($0)\"" }.joined(separator: ","))]", fields: fields)
  }

  var shown: [String]? { notes.cached(list) }
  var confirmed: [String]? { notes.confirmed(list) }

  /// The states of the entries, as words.
  var states: [String] { outbox.entries.map { Self.word($0.state) } }

  static func word(_ state: Outbox.Entry.State) -> String {
    switch state {
    case .waiting(let reason): "waiting, \(word(reason))"
    case .sending: "sending"
    case .unknown(let reason): "unknown, \(word(reason))"
    case .conflicted: "conflicted"
    case .refused: "refused"
    case .unresolved: "unresolved"
    case .unreadable: "unreadable"
    @unknown default: "?"
    }
  }

  static func word(_ reason: Outbox.Entry.Reason) -> String {
    switch reason {
    case .turn: "turn"
    case .connectivity: "connectivity"
    case .backoff: "backoff"
    case .paused: "paused"
    case .signIn: "sign in"
    case .identity: "identity"
    case .stopped: "stopped"
    @unknown default: "?"
    }
  }

  /// Returns once the entries are in these states.
  func wait(for expected: String...) async {
    for await entries in outbox.states where entries.map({ Self.word($0.state) }) == expected { return }
  }

  /// Begins a removal of everything, which waits for a step until `gate` opens.
  func removalThatWaits(
    at gate: Gate
  ) async throws -> (step: Task<Void, any Error>, removal: Task<Void, any Error>) {
    let layer = layer
    var flow = layer.flow([String].self)
    flow.saveToPersistence = { _, _ in try await gate.wait() }
    let reactor = Reactor(flow: flow)
    let step = Task { try await reactor.save([], for: "other") }
    try await gate.waitForArrival()
    let removal = Task { try await layer.removeAll() }
    try await log.wait(for: .removed)
    return (step, removal)
  }

  /// The requests that change something, as method, path and body.
  var sent: [String] {
    transport.requests.filter { $0.request.method != .get }.map {
      "\($0.request.method.rawValue) \($0.path) \($0.body.map { String(decoding: $0, as: UTF8.self) } ?? "")"
    }
  }

  var keys: [String?] {
    transport.requests.filter { $0.request.method != .get }.map { received in
      HTTPField.Name("Idempotency-Key").flatMap { received.request.headerFields[$0] }
    }
  }

  func end() async throws {
    try await bench.waitUntilNothingWaits()
  }
}

/// An item to which the server gives an id.
struct Item: Codable, Hashable, Sendable, Identifiable {
  var id: Int
  var name: String
}

struct AddItem: Mutation {
  typealias Answer = Item

  var id = TemporaryID()
  var name: String

  func request(_ known: Known) throws -> Resource { try Resource("items", method: .post, json: ["name": name]) }

  func draft(_ drafts: inout Drafts) {
    drafts.change([Item].self, at: "items") { [id, name] items in
      if !items.contains(where: { $0.id == id.int }) { items.append(Item(id: id.int, name: name)) }
    }
  }

  func settle(_ item: Item, _ settlement: inout Settlement) { settlement.identify(id, as: item.id) }
}

struct RenameItem: Mutation {
  var id: Int
  var name: String
  var lane: Lane = .main

  func request(_ known: Known) throws -> Resource {
    try Resource("items/\(id)", method: .patch, json: ["name": name])
  }

  func draft(_ drafts: inout Drafts) {
    drafts.change([Item].self, at: "items") { [id, name] items in
      for index in items.indices where items[index].id == id { items[index].name = name }
    }
  }
}

let accepted = ScriptedTransport.Answer.response(.noContent)
let refused = ScriptedTransport.Answer.response(.unprocessableContent)
