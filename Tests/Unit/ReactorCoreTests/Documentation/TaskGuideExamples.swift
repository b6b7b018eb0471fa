import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorMiddleware
import ReactorTesting
import ReactorWrites
import Synchronization
import Testing

// The Swift code of the guides by task in ReactorCore.docc that show no screen, which a test
// compares with it.

/// The declarations that the guides take as given.
enum TaskGuide {
  struct Story: Codable, Hashable, Sendable {
    let id: Int
    let title: String
  }

  struct Cart: Codable, Sendable {}

  struct Receipt: Codable, Sendable {}
}

// MARK: Errors and retries

extension TaskGuide {
  struct Problem: Decodable {
    let message: String
  }

  static func text(for error: ReactorError) -> String? {
    switch error {
    case .cancelled: nil
    case .noConnectivity: "You are offline."
    case .timedOut, .network: "The server cannot be reached."
    case .authentication: "Please sign in again."
    case .server(let response, _) where response.status == .notFound: "This story was removed."
    default: "Something went wrong."
    }
  }

  static func post(_ comment: Resource, to layer: ModelLayer) async throws {
    do {
      try await layer.send(comment)
    } catch .server(let response, let body) where response.status == .unprocessableContent {
      let problem = try JSONDecoder().decode(Problem.self, from: body)
      show(problem.message)
    }
  }

  static func order(_ cart: Cart, from layer: ModelLayer) async throws -> Receipt {
    var order = try Resource("orders", method: .post, json: cart)
    order.idempotencyKey = UUID().uuidString
    let receipt = try await layer.reactor(Receipt.self).send(order)
    return receipt
  }

  static func retrying(_ api: URL) -> (ModelLayer, Reactor<[Story]>) {
    var configuration = ReactorConfiguration()
    configuration.retry = RetryPolicy(attempts: 5, firstDelay: .seconds(1))
    configuration.retry.longestOffline = .seconds(10)
    let transport = URLSessionTransport(timeout: .seconds(15))
    let layer = ModelLayer(baseURL: api, transport: transport, configuration: configuration)

    var once = configuration
    once.retry = .never
    let suggestions = layer.reactor([Story].self, parser: nil, configuration: once)
    return (layer, suggestions)
  }

  static func limiting(_ reports: Reactor<Story>) -> (Resource, ReactorConfiguration) {
    var report = Resource("reports/2026")
    report.timeout = .seconds(120)
    report.priority = .background

    var configuration = ReactorConfiguration()
    configuration.shouldRetry = { attempt in attempt.isTransient || attempt.status == .conflict }
    reports.cancel("reports/2026")
    return (report, configuration)
  }

  private static func show(_ message: String) {}
}

// MARK: Writing

extension TaskGuide {
  static func write(_ changed: Story, _ layer: ModelLayer, _ stories: Reactor<[Story]>) async throws -> Story {
    try await stories.mutate("stories", by: Resource("stories/7", method: .delete)) { list in
      list.removeAll { $0.id == 7 }
    }

    let saved = try await stories.mutate(
      "stories", by: Resource("stories/7", method: .put, json: changed), answer: Story.self
    ) { list in
      list = list.map { $0.id == changed.id ? changed : $0 }
    }
    return saved
  }

  static func mark(_ stories: Reactor<[Story]>) async {
    for await state in stories.states(for: "stories") {
      show(state.value ?? [], isCertain: state.drafts.isEmpty)
    }
  }

  static func group(_ layer: ModelLayer, _ stories: Reactor<[Story]>) async throws -> [Story] {
    var feed: Resource = "feed"
    feed.groups = ["stories"]
    let list = try await stories.fetch(feed)
    await layer.invalidate(.group("stories"), .under("authors/7"))
    return list
  }

  static func upload(_ file: URL, _ layer: ModelLayer) async throws {
    let form: MultipartForm = [
      .field("title", "Sunset"), .file("photo", at: file, contentType: "image/jpeg"),
    ]
    try await layer.send(Resource("photos", form: form)) { progress in
      print(progress.fractionCompleted)
    }
  }

  private static func show(_ stories: [Story], isCertain: Bool) {}
}

// MARK: Offline

extension TaskGuide {
  static func offline(_ api: URL, _ directory: URL) async throws -> [Story] {
    var configuration = ReactorConfiguration()
    configuration.staleIfError = .seconds(7 * 86_400)
    let layer = ModelLayer(
      baseURL: api, persistence: FilePersistence(directory: directory), configuration: configuration)
    let stories = layer.reactor([Story].self)

    let list = try await stories.fetch("stories")
    return list
  }

  static func banner(_ stories: Reactor<[Story]>) async {
    for await state in stories.states(for: "stories") {
      showBanner(state.fetchStatus == .paused ? "Waiting for a connection" : nil)
      if let list = state.value { show(list, from: state.fetchedAt) }
    }
  }

  static func download(_ stories: Reactor<[Story]>, _ story: Reactor<Story>) async throws {
    for item in try await stories.fetch("stories") {
      _ = try await story.fetch("stories/\(item.id)")
    }
  }

  static func offlineMode(_ stories: Reactor<[Story]>, isOn: Bool) async throws -> [Story] {
    let list = try await stories.fetch("stories", policy: isOn ? .cacheOnly : .cacheFirst)
    return list
  }

  private static func showBanner(_ text: String?) {}
  private static func show(_ stories: [Story], from date: Date?) {}
}

// MARK: On servers

extension TaskGuide {
  final class Tenants: Sendable {
    private let layers = Mutex<[String: ModelLayer]>([:])
    private let make: @Sendable (String) -> ModelLayer

    init(_ make: @escaping @Sendable (String) -> ModelLayer) { self.make = make }

    func layer(for tenant: String) -> ModelLayer {
      layers.withLock { layers in
        if let layer = layers[tenant] { return layer }
        let layer = make(tenant)
        layers[tenant] = layer
        return layer
      }
    }

    func close(_ tenant: String) { _ = layers.withLock { $0.removeValue(forKey: tenant) } }
  }

  static func serving<A: Authenticator>(
    _ api: URL, _ directory: URL, _ transport: any Transport, _ authenticator: A,
    credential: @escaping @Sendable (String) -> A.Credential, for tenant: String
  ) async throws -> [Story] {
    var configuration = ReactorConfiguration()
    configuration.memoryLimit = ReactorConfiguration.MemoryLimit(models: 100, bytes: 4 << 20)
    configuration.keepUnusedFor = .seconds(60)
    configuration.staleIfError = .seconds(3_600)
    configuration.staleAfter = .seconds(2)
    configuration.retry = RetryPolicy(attempts: 2, firstDelay: .milliseconds(100))
    configuration.retry.longestRetryAfter = .seconds(2)

    let persistence = FilePersistence(directory: directory, limit: 4 << 30, countLimit: 1_000_000)
    let tenants = Tenants { [configuration] tenant in
      let authentication = AuthenticationMiddleware(
        authenticator, credential: credential(tenant), origins: [api])
      let backend = Backend(
        baseURL: api, transport: transport, authentication: authentication, reachability: .always)
      return ModelLayer(
        backend: backend, persistence: persistence, scope: Scope(tenant), configuration: configuration)
    }

    let stories = tenants.layer(for: tenant).reactor([Story].self)
    let list = try await stories.fetch("stories")
    return list
  }

  static func measuring(_ layer: ModelLayer, _ metrics: Metrics) {
    layer.observeEvents(for: layer) { _, event in metrics.increment(event.kind.name.rawValue) }
  }

  struct Metrics: Sendable {
    func increment(_ name: String) {}
  }
}

// MARK: Coming from other libraries

extension TaskGuide {
  @MainActor
  static func arriving(_ api: URL, _ directory: URL) async throws -> ([Story], LiveResource<[Story]>) {
    let layer = ModelLayer(baseURL: api, persistence: FilePersistence(directory: directory))
    let stories = layer.reactor([Story].self)

    let list = try await stories.fetch("stories")  // once
    let live = LiveResource(stories, "stories")  // for as long as a screen shows it
    return (list, live)
  }

  static func fromSiesta() -> Resource {
    var recent: Resource = "stories"
    recent.freshFor = .seconds(30)
    return recent
  }

  static func fromTanStackQuery(
    _ stories: Reactor<[Story]>, _ layer: ModelLayer, _ shown: [Story], _ post: Resource
  ) async throws {
    try await stories.save(shown, for: "stories")  // setQueryData
    try await layer.send(post)  // mutate
    await stories.invalidate("stories")  // invalidateQueries
  }

  static func fromAlamofire(_ api: URL) -> Reactor<[Story]> {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    var configuration = ReactorConfiguration()
    configuration.decoder = decoder
    let layer = ModelLayer(baseURL: api, configuration: configuration)
    let stories = layer.reactor([Story].self, parser: .json(keyPath: "data.stories", decoder: decoder))
    return stories
  }

  static func fromReactiveCocoa(_ stories: Reactor<[Story]>) {
    let task = Task {
      for await state in stories.states(for: "stories") { show(state) }
    }
    task.cancel()
  }

  private static func show(_ state: LoadState<[Story]>) {}
}

// MARK: Writing a persistence or a transport

/// A table of a database, as it might be. It compares text byte by byte, as a database does.
actor Table {
  struct Row: Sendable {
    var digest, scope, url, identity: String
    var bytes: Data
  }

  private var rows: [String: Row] = [:]

  func row(_ digest: String) throws -> Row? { rows[digest] }
  func put(_ row: Row) throws { rows[row.digest] = row }
  func delete(digest: String) throws { rows[digest] = nil }
  func delete(scope: String?) throws { rows = rows.filter { !Self.isSame($0.value.scope, scope) } }

  func rows(scope: String?, url: String?) throws -> [Row] {
    rows.values.filter { Self.isSame($0.scope, scope) && Self.isSame($0.url, url) }
  }

  private static func isSame(_ text: String, _ wanted: String?) -> Bool {
    wanted.map { $0.utf8.elementsEqual(text.utf8) } ?? true
  }
}

extension TaskGuide {
  struct TablePersistence: Persistence {
    let table: Table

    func load(_ key: RecordKey) async throws -> Record? {
      guard let row = try await table.row(key.digest) else { return nil }
      return try Record(encoded: row.bytes)
    }

    func save(_ record: Record, for key: RecordKey) async throws {
      guard record.head.identity.utf8.elementsEqual(key.identity.utf8) else { throw Record.Failure.wrongKey }
      try await table.put(
        Table.Row(
          digest: key.digest, scope: key.scope.name, url: key.url, identity: key.identity,
          bytes: record.encoded()))
    }

    func remove(_ key: RecordKey) async throws { try await table.delete(digest: key.digest) }

    func removeAll(in scope: Scope?) async throws { try await table.delete(scope: scope?.name) }

    func entries(in scope: Scope?, url: String?) async throws -> [Record.Entry] {
      try await table.rows(scope: scope?.name, url: url).compactMap { row in
        guard let key = RecordKey(identity: row.identity), let record = try? Record(encoded: row.bytes) else {
          return nil
        }
        return Record.Entry(
          key: key, size: row.bytes.count, fetchedAt: record.head.receivedAt,
          freshUntil: record.head.freshUntil)
      }
    }
  }

  struct ClientTransport: Transport {
    let client: Client

    func send(
      _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> (HTTPResponse, Data) {
      let fields = request.headerFields.map { ($0.name.rawName, $0.value) }
      let answer: Client.Answer
      do {
        answer = try await client.execute(request.method.rawValue, request.url, fields, body)
      } catch let error as Client.ConnectionError {
        throw TransportError.connectionFailed(error.reason)
      }
      guard answer.fields.count <= 4_096 else { throw TransportError.tooManyFields(limit: 4_096) }
      var response = HTTPResponse(status: .init(code: answer.status))
      for (name, value) in answer.fields {
        guard let name = HTTPField.Name(name) else { continue }
        response.headerFields.append(HTTPField(name: name, value: value))
      }
      return (response, answer.body)
    }
  }

  struct APIVersion: TransportMiddleware {
    func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
      var request = request
      request.headerFields[.apiVersion] = "2026-11-01"
      return try await next(request, body)
    }
  }

  /// A client of another package, as it might be.
  struct Client: Sendable {
    struct Answer: Sendable {
      var status: Int
      var fields: [(String, String)]
      var body: Data
    }

    struct ConnectionError: Error {
      var reason: String
    }

    var execute: @Sendable (String, URL?, [(String, String)], Data?) async throws -> Answer
  }
}

extension HTTPField.Name {
  fileprivate static var apiVersion: Self { HTTPField.Name("X-API-Version") ?? .userAgent }
}

@Suite struct `The guide to a persistence` {
  @Test func `the guide's persistence keeps the contract`() async throws {
    try await PersistenceConformance { TaskGuide.TablePersistence(table: Table()) }.run()
  }
}
