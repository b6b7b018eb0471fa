package import Foundation
package import HTTPCaching
import HTTPTypes
package import ReactorCore

/// The steps of an outbox for one mutation, each callable by itself without sending, for the
/// conformance suite of ReactorTesting.
package struct MutationProbe<M: Mutation>: Sendable {
  private let layer: ModelLayer

  /// Sends nothing.
  private struct Unreachable: Transport {
    func send(
      _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> (HTTPResponse, Data) {
      throw TransportError.notConnected("a probe sends nothing")
    }
  }

  package init(baseURL: URL, configuration: ReactorConfiguration) {
    layer = ModelLayer(
      baseURL: baseURL, transport: Unreachable(), reachability: .always, configuration: configuration)
  }

  /// Returns the saved form of a mutation.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)``.
  package func saved(_ mutation: M) throws(ReactorError) -> Data { try MutationBox.encode(mutation) }

  /// Reads a saved form, as after a restart.
  ///
  /// - Throws: ``MutationError``.
  package func read(_ json: Data, version: Int = M.version) throws(MutationError) -> M {
    let entry = OutboxEntry(
      id: UUID(), lane: "", name: M.name, version: version, arguments: json, submittedAt: Date(), idempotencyWindow: 0)
    let box = try MutationBox(entry, types: [M.name: M.self])
    guard let mutation = box.value as? M else { throw .unknownName(M.name) }
    return mutation
  }

  /// Returns a saved form with each temporary id replaced by `id`; `nil` if it has none.
  package func saved(_ json: Data, withIDs id: JSONValue) throws -> Data? {
    let found = TemporaryIDs.Occurrences(in: json)
    let given = try id.data()
    return TemporaryIDs.rewritten(json, Dictionary(uniqueKeysWithValues: found.strings.map { ($0, given) }))
  }

  package func drafts(of mutation: M) -> Drafts { MutationBox(mutation).drafts }

  /// Returns the keys of the records that drafts apply to.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)`` if nothing can be drafted there.
  package func keys(of drafts: Drafts) throws(ReactorError) -> [RecordKey] {
    try drafts.made(of: UUID(), key: layer.layer.key).keys
  }

  package func key(of resource: Resource) throws(ReactorError) -> RecordKey { try layer.layer.key(resource) }

  /// Returns the request that a mutation builds while nothing is cached.
  package func request(of mutation: M) async throws -> Resource {
    try await mutation.request(Known(layer: layer.layer, drafts: drafts(of: mutation), tags: EntityTags()))
  }

  /// Checks that a request can be saved and sent.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)`` if it only reads, cannot be sent, or holds a
  ///   secret.
  package func check(_ request: Resource) throws(ReactorError) {
    _ = try layer.outbox.frozen(request, layer.layer)
  }
}
