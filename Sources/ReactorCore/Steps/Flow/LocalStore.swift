import Foundation
import HTTPTypes

/// Models of one type in a `Persistence`, encoded by their parser, for a flow with a custom network
/// step.
struct LocalStore: Sendable {
  let cache: HTTPCache
  let parser: AnyParser
  let key: @Sendable (Resource) throws(ReactorError) -> RecordKey

  func load(_ resource: Resource) async throws -> Snapshot<AnyModel>? {
    guard let record = try await cache.lookUp(try key(resource), for: resource.headers),
      let stored = record.head.localModel, parser.modelName.matches(stored)
    else { return nil }
    return Snapshot(model: try parser.parse(record.body, nil).model, fetchedAt: record.head.receivedAt, record: record)
  }

  func save(_ snapshot: Snapshot<AnyModel>, _ resource: Resource) async throws {
    let key = try key(resource)
    var record = try parser.local(snapshot, key)
    // Distinguishes a value of the network step from a local write when it is loaded.
    if let head = snapshot.head { record.head.fields = head.fields }
    record.head.join(resource.groups)
    try await cache.store(record, for: key)
    snapshot.receipt?.saved(record.body.count)
  }

  /// Returns the snapshot of a model that the network step has returned.
  func fetched(_ model: AnyModel, _ resource: Resource, at date: Date) throws -> Snapshot<AnyModel> {
    let head = Record.Head(
      identity: try key(resource).identity, status: .ok, fields: Record.Head.fetched, requestedAt: date,
      receivedAt: date, localModel: parser.modelName.text)
    return Snapshot(model: model, fetchedAt: date, head: head)
  }

  func remove(_ resource: Resource) async throws { try await cache.remove(try key(resource)) }
}

extension AnyParser {
  /// Returns a record of a model that no server has sent. Only flows of the same model type read
  /// it.
  func local(_ snapshot: Snapshot<AnyModel>, _ key: RecordKey) throws -> Record {
    let body: Data?
    do { body = try encode(snapshot.model) } catch { throw NotEncoded(reason: Redaction.describe(error)) }
    guard let body else { throw NotEncoded(reason: "the encoder returned null for \(type)") }
    return Record(
      head: Record.Head(
        identity: key.identity, status: .ok, fields: [:], requestedAt: snapshot.fetchedAt,
        receivedAt: snapshot.fetchedAt, localModel: modelName.text), body: body)
  }
}

extension Record.Head {
  /// The field that marks a model of a custom network step: no server has sent these bytes, and no
  /// user has written them.
  fileprivate static let fetched: HTTPFields = [origin: "network"]

  private static let origin = HTTPField.Name("Reactor-Origin") ?? .from

  /// A Boolean value that indicates whether this program wrote the value. It is `false` for a value
  /// of a network step.
  var isLocalWrite: Bool { localModel != nil && fields[Self.origin] == nil }
}

/// The error for a local model that has no bytes. The model stays in memory only.
struct NotEncoded: Error {
  let reason: String
}
