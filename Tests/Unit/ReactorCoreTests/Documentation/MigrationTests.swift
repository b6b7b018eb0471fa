import Foundation
import ReactorCore
import ReactorTesting
import Synchronization
import Testing

/// The examples of the migration table do what the table says.
@Suite("Migrating from Reactor 1.x") struct MigrationTests {
  private let migration: Migration
  private let resource: Resource = "author"

  private struct Failed: Error {}

  private final class Log: Sendable {
    private let errors = Mutex<[any Error]>([])
    var count: Int { errors.withLock { $0.count } }
    func add(_ error: any Error) { errors.withLock { $0.append(error) } }
  }

  // A loopback host, so that the machine's connectivity does not matter.
  init() throws { migration = Migration(api: try #require(URL(string: "http://localhost/v1"))) }

  @Test func `the defaults equal the table's`() {
    let configuration = ReactorConfiguration()
    #expect(configuration.saving == .awaited)
    #expect(configuration.checksReachability)
    #expect(configuration.parsing == .prune)
    #expect(configuration.freshFor == .seconds(300))
    #expect(configuration.keepUnusedFor == .seconds(300))
    #expect(configuration.memoryLimit == ReactorConfiguration.MemoryLimit(models: 1_000, bytes: 64 << 20))
    #expect(Backend(baseURL: migration.api).reachability is Backend.SystemReachability)
    #expect(Backend(baseURL: migration.api).middlewares.isEmpty)
  }

  @Test func `fetch asks persistence first, and fetchFromNetwork the network`() async throws {
    migration.transport.answer("/v1/author", with: .json(#"{"name":"Ada"}"#), .json(#"{"name":"Grace"}"#))
    let store = MemoryPersistence()
    let flow = ReactorFlow<Author>(
      backend: Backend(baseURL: migration.api, transport: migration.transport), persistence: store)
    #expect(try await Reactor(flow: flow).fetch(resource).name == "Ada")
    let (author, newest) = try await migration.axioms(Reactor(flow: flow))
    #expect(author.name == "Ada")
    #expect(newest.name == "Grace")
    #expect(migration.transport.requestCount == 2)
  }

  @Test func `an optimistic change is shown at once, and needs no rollback`() async throws {
    let gate = Gate()
    migration.transport.answer(
      "/v1/author", with: .json(#"{"name":"Grace"}"#), .response(.unprocessableContent).held(at: gate))
    let reactor = Reactor<Author>(baseURL: migration.api, transport: migration.transport)
    #expect(try await reactor.fetch(resource).name == "Grace")
    let change = Task { [migration] in try await migration.mutated(reactor) }
    try await gate.waitForArrival()
    #expect(reactor.cached(resource)?.name == "Ada")
    gate.open()
    await #expect(throws: ReactorError.self) { try await change.value }
    #expect(reactor.cached(resource)?.name == "Grace")
  }

  @Test func `a step that loads is wrapped, and why it failed is known`() async throws {
    let log = Log()
    var flow = ReactorFlow<Author> { _ in Author(name: "Ada") }
    flow.loadFromPersistence = { _ in throw Failed() }
    var migration = migration
    migration.log = { log.add($0) }
    let reactor = migration.wrapped(flow)
    let token = migration.observed(reactor)
    #expect(try await reactor.fetch(resource).name == "Ada")
    #expect(log.count == 2)
    token.cancel()
  }

  @Test func `a store of another package is loaded from, saved to and removed from`() async throws {
    let database = Database()
    let first = migration.thirdPartyStore(database: database) { _ in Author(name: "Ada") }
    #expect(try await first.fetch(resource).name == "Ada")
    let second = migration.thirdPartyStore(database: database) { _ in throw Failed() }
    #expect(try await second.fetch(resource).name == "Ada")
    try await second.remove(resource)
    #expect(await database.author("author") == nil)
  }

  @Test func `a transport of another package is asked for the URL`() async throws {
    let client = Client { method, url, _ in
      guard method == "GET", url?.absoluteString == "http://localhost/v1/articles" else { return (404, Data()) }
      return (200, Data(#"[{"title":"Moon"}]"#.utf8))
    }
    #expect(try await migration.thirdPartyTransport(client: client).fetch("articles").map(\.title) == ["Moon"])
  }

  @Test func `a model without JSON is persisted as it was received`() async throws {
    migration.transport.answer("/v1/headline", with: .json(#"{"title":"Moon"}"#))
    let backend = Backend(baseURL: migration.api, transport: migration.transport)
    let store = MemoryPersistence()
    for _ in 1...2 {
      let reactor = Reactor(flow: ReactorFlow<Headline>(backend: backend, persistence: store))
      #expect(try await reactor.fetch("headline").title == "Moon")
    }
    #expect(migration.transport.requestCount == 1)
  }
}
