import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting

/// Reads and writes papers of one type: a reactor behind a type-erased interface.
struct ErasedReactor: Sendable {
  /// One state that an observer received.
  struct Seen: Sendable {
    var document: Document?
    var error: ReactorError?
    var fetchStatus: FetchStatus
    var isStale: Bool

    init(_ state: LoadState<some DocumentModel>) {
      document = state.value?.document
      (error, fetchStatus, isStale) = (state.error, state.fetchStatus, state.isStale)
    }
  }

  let kind: Place.Kind
  let fetch: @Sendable (Resource, FetchPolicy) async throws -> Document
  let save: @Sendable (Document, Resource) async throws -> Void
  let invalidate: @Sendable (Resource) async -> Void
  let remove: @Sendable (Resource) async throws -> Void
  let cached: @Sendable (Resource) -> Document?
  /// Calls `body` with each state, as long as the task lives.
  let watch: @Sendable (Resource, _ polling: Duration, _ body: (Seen) -> Void) async -> Void
  /// Calls `body` with each state, as long as the token lives.
  let observe:
    @Sendable (Resource, _ polling: Duration, _ body: @escaping @Sendable (Seen) -> Void) -> ModelLayer.ObservationToken

  init<Model: DocumentModel>(_ kind: Place.Kind, _ reactor: Reactor<Model>) {
    self.kind = kind
    fetch = { resource, policy in
      resource.isReadOnly == nil
        ? try await reactor.send(resource).document : try await reactor.fetch(resource, policy: policy).document
    }
    save = { try await reactor.save(Model($0), for: $1) }
    invalidate = { await reactor.invalidate($0) }
    remove = { try await reactor.remove($0) }
    cached = { reactor.cached($0)?.document }
    watch = { resource, polling, body in
      for await state in reactor.states(for: resource, polling: polling) { body(Seen(state)) }
    }
    observe = { resource, polling, body in
      reactor.states(for: resource, polling: polling).observe { body(Seen($0)) }
    }
  }
}

extension ReferenceModel {
  /// The resource that asks for a document, or changes it.
  func resource(_ place: Place, changes: Bool = false) -> Resource {
    resource(place.path, [Place.kindField: place.kind.rawValue, .acceptLanguage: place.language], changes: changes)
  }

  func resource(_ path: String, _ fields: HTTPFields, changes: Bool = false) -> Resource {
    let isSearch = server.searched.contains(path)
    var resource = Resource(path, method: changes ? .put : isSearch ? .post : .get, headers: fields)
    if !changes { resource.isReadOnly = true }
    return resource
  }
}

extension Place {
  /// The field in which a request says its type.
  static let kindField = HTTPField.Name("X-Kind") ?? .range

  /// Of all types, in all languages.
  static func all(_ owner: String) -> [Place] {
    ReferenceModel.paths.flatMap { path in
      Kind.allCases.flatMap { kind in
        languages.map { Place(owner: owner, path: path, kind: kind, language: $0) }
      }
    }
  }
}
