import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import ReactorWrites
import Testing

// The Swift code of Documentation/MigratingFromReactor1.md, which a test compares with it.

struct Author {
  let name: String
}

extension Author: Mappable {
  static func mapToModel(_ json: JSONValue) throws -> Author {
    Author(name: try json.string("name"))
  }

  func mapToJSON() -> JSONValue { ["name": .string(name)] }
}

struct Headline: Mappable {
  let title: String

  static func mapToModel(_ json: JSONValue) throws -> Headline {
    Headline(title: try json.string("title"))
  }
  // No mapToJSON: it gives .null, where 2016 wrote NSNull().
}

struct Article: Codable, Sendable {
  let title: String
}

struct NoMultipleChoices: TransportMiddleware {
  func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
    let (response, data) = try await next(request, body)
    guard response.status != .multipleChoices else { throw ReactorError.server(response, body: data) }
    return (response, data)
  }
}

struct ClientTransport: Transport {
  let client: Client

  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    let answer = try await client.execute(request.method.rawValue, request.url, body)
    return (HTTPResponse(status: .init(code: answer.status)), answer.bytes)
  }
}

/// A client of another package, as it might be.
struct Client: Sendable {
  var execute: @Sendable (String, URL?, Data?) async throws -> (status: Int, bytes: Data)
}

/// A store of another package, as it might be.
actor Database {
  private var rows: [String: (author: Author, date: Date)] = [:]

  func author(_ id: String) -> (author: Author, date: Date)? { rows[id] }
  func insert(_ author: Author, date: Date, as id: String) { rows[id] = (author, date) }
  func delete(_ id: String) { rows[id] = nil }
}

/// The values that the examples of the document assume.
struct Migration {
  var api: URL
  var directory = URL.temporaryDirectory.appending(path: "reactor-migration-\(UUID().uuidString)")
  var transport = ScriptedTransport()
  var log: @Sendable (any Error) -> Void = { _ in }

  func persistenceOn() -> Reactor<Author> {
    let store = FilePersistence(directory: directory)
    let reactor = Reactor<Author>(baseURL: api, persistence: store)
    return reactor
  }

  func persistenceOff() -> Reactor<Author> {
    let reactor = Reactor<Author>(baseURL: api)
    return reactor
  }

  func saving() -> ReactorConfiguration {
    var configuration = ReactorConfiguration()
    configuration.saving = .required
    return configuration
  }

  func expiry() -> (ReactorConfiguration, Resource) {
    var configuration = ReactorConfiguration()
    configuration.freshFor = .seconds(2)
    var article: Resource = "articles/1"
    article.freshFor = .seconds(3600)
    return (configuration, article)
  }

  func reachability() -> (Backend, ReactorConfiguration) {
    let backend = Backend(baseURL: api, reachability: .never)
    var configuration = ReactorConfiguration()
    configuration.checksReachability = false
    return (backend, configuration)
  }

  func pruning() -> ReactorConfiguration {
    var configuration = ReactorConfiguration()
    configuration.parsing = .strict
    return configuration
  }

  func flows(store: any Persistence, configuration: ReactorConfiguration) -> [any Sendable] {
    let backend = Backend(baseURL: api, transport: transport)

    let one = ReactorFlow<Author>(backend: Backend(baseURL: api), persistence: store, configuration: configuration)
    let oneOver = ReactorFlow<Author>(backend: backend, persistence: store, configuration: configuration)
    let many = ReactorFlow<[Author]>(backend: Backend(baseURL: api), persistence: store, configuration: configuration)
    let manyOver = ReactorFlow<[Author]>(backend: backend, persistence: store, configuration: configuration)
    let reactor = Reactor(flow: oneOver)
    return [one, many, manyOver, reactor]
  }

  func ownNetwork(_ fetchAuthor: @escaping @Sendable (String) async throws -> Author) -> Reactor<Author> {
    let store = FilePersistence(directory: directory)
    let flow = ReactorFlow<Author>.persisted(in: store) { resource in
      try await fetchAuthor(resource.path)
    }
    let reactor = Reactor(flow: flow)
    return reactor
  }

  func ownFlow(
    _ handler: ReactorFlow<Author>, _ fetchAuthor: @escaping @Sendable (String) async throws -> Author
  ) -> Reactor<Author> {
    let flow = ReactorFlow<Author>(
      network: { resource, _ in Snapshot(model: try await fetchAuthor(resource.path), fetchedAt: Date()) },
      loadFromPersistence: handler.loadFromPersistence,
      saveToPersistence: handler.saveToPersistence,
      removeFromPersistence: handler.removeFromPersistence)
    return Reactor(flow: flow)
  }

  func connection() -> ModelLayer {
    let backend = Backend(
      baseURL: api, transport: URLSessionTransport(), middlewares: [NoMultipleChoices()],
      reachability: .always)
    let layer = ModelLayer(backend: backend)
    return layer
  }

  func axioms(_ reactor: Reactor<Author>) async throws -> (Author, Author) {
    let author = try await reactor.fetch("author")  // memory, persistence, and only then the network
    let newest = try await reactor.fetchFromNetwork("author")  // the network, and then the save
    return (author, newest)
  }

  func mutated(_ reactor: Reactor<Author>) async throws {
    let change = try Resource("author", method: .put, json: ["name": "Ada"])
    try await reactor.mutate("author", by: change) { author in
      author = Author(name: "Ada")
    }
  }

  func wrapped(_ flow: ReactorFlow<Author>) -> Reactor<Author> {
    var flow = flow
    let load = flow.loadFromPersistence
    flow.loadFromPersistence = { [log] resource in
      do {
        return try await load(resource)
      } catch {
        log(error)
        throw error
      }
    }
    let network = flow.network
    flow.network = { [log] resource, context in
      do { return try await network(resource, context) } catch { log(error); throw error }
    }
    let save = flow.saveToPersistence
    flow.saveToPersistence = { [log] snapshot, resource in
      do { try await save(snapshot, resource) } catch { log(error); throw error }
    }
    let reactor = Reactor(flow: flow)
    return reactor
  }

  func observed(_ reactor: Reactor<Author>) -> ModelLayer.ObservationToken {
    let token = reactor.observeEvents { [log] event in
      if case .loadFailed(let error) = event.kind { log(error) }
    }
    return token
  }

  func thirdPartyTransport(client: Client) -> Reactor<[Article]> {
    let articles = Reactor<[Article]>(baseURL: api, transport: ClientTransport(client: client))
    return articles
  }

  func thirdPartyStore(
    database: Database, _ fetchAuthor: @escaping @Sendable (String) async throws -> Author
  ) -> Reactor<Author> {
    let flow = ReactorFlow<Author>(
      network: { resource, _ in Snapshot(model: try await fetchAuthor(resource.path), fetchedAt: Date()) },
      loadFromPersistence: { resource in
        guard let row = await database.author(resource.path) else { return nil }
        return Snapshot(model: row.author, fetchedAt: row.date)
      },
      saveToPersistence: { snapshot, resource in
        await database.insert(snapshot.model, date: snapshot.fetchedAt, as: resource.path)
      },
      removeFromPersistence: { resource in await database.delete(resource.path) })
    return Reactor(flow: flow)
  }

  func resource() -> Resource {
    let page = Resource("articles", query: ["page": "2"], headers: [.acceptLanguage: "de"])
    return page
  }
}
