import Foundation

/// Models of one type in a ``Persistence``, encoded by their parser: for a flow whose network step is its user's own.
struct TypedStore<Model: Sendable>: Sendable {
  let cache: HTTPCache
  let parser: Parser<Model>
  let key: @Sendable (Resource) throws(ReactorError) -> RecordKey

  func load(_ resource: Resource) async throws -> Snapshot<Model>? {
    guard let record = try await cache.lookUp(try key(resource), for: resource.headers),
      record.head.localModel == HTTPFlow<Model>.modelName
    else { return nil }
    return Snapshot(model: try parser.parse(record.body).model, fetchedAt: record.head.receivedAt, record: record)
  }

  func save(_ snapshot: Snapshot<Model>, _ resource: Resource) async throws {
    let key = try key(resource)
    try await cache.store(HTTPFlow.local(snapshot, key, parser), for: key)
  }

  func remove(_ resource: Resource) async throws { try await cache.remove(try key(resource)) }
}
