import Foundation
import HTTPTypes

/// Models of one type in a ``Persistence``, encoded by their parser: for a flow whose network step is its user's own.
struct TypedStore<Model: Sendable>: Sendable {
  let cache: HTTPCache
  let parser: Parser<Model>
  let key: @Sendable (Resource) throws(ReactorError) -> RecordKey

  func load(_ resource: Resource) async throws -> Snapshot<Model>? {
    guard let record = try await cache.lookUp(try key(resource), for: resource.headers),
      let stored = record.head.localModel, HTTPFlow<Model>.modelName.matches(stored)
    else { return nil }
    return Snapshot(model: try parser.parse(record.body).model, fetchedAt: record.head.receivedAt, record: record)
  }

  func save(_ snapshot: Snapshot<Model>, _ resource: Resource) async throws {
    let key = try key(resource)
    var record = try HTTPFlow.local(snapshot, key, parser)
    // What the network step gave is told from a local write when it is loaded.
    if let head = snapshot.head { record.head.fields = head.fields }
    try await cache.store(record, for: key)
    snapshot.receipt?.saved(record.body.count)
  }

  /// A model that the network step gave.
  func fetched(_ model: Model, _ resource: Resource, at date: Date) throws -> Snapshot<Model> {
    let head = Record.Head(
      identity: try key(resource).identity, status: .ok, fields: Record.Head.fetched, requestedAt: date,
      receivedAt: date, localModel: HTTPFlow<Model>.modelName.text)
    return Snapshot(model: model, fetchedAt: date, head: head)
  }

  func remove(_ resource: Resource) async throws { try await cache.remove(try key(resource)) }
}

extension Record.Head {
  /// The field of a model that a network step of the user's own gave: no server has sent these bytes, and
  /// no user has written them.
  fileprivate static let fetched: HTTPFields =
    HTTPField.Name("Reactor-Origin").map { [$0: "network"] } ?? [:]

  /// A Boolean value that indicates whether this program wrote the value, rather than a network step.
  var isLocalWrite: Bool { localModel != nil && fields != Self.fetched }
}
