import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting

/// Where papers of one type are asked for and written: a reactor, whatever its model.
struct Desk: Sendable {
  /// What somebody who watches is given.
  struct Seen: Sendable {
    var document: Document?
    var error: ReactorError?
    var fetchStatus: FetchStatus
    var isStale: Bool
  }

  let kind: Place.Kind
  let fetch: @Sendable (Resource, FetchPolicy) async throws -> Document
  let save: @Sendable (Document, Resource) async throws -> Void
  let invalidate: @Sendable (Resource) async -> Void
  let remove: @Sendable (Resource) async throws -> Void
  let cached: @Sendable (Resource) -> Document?
  /// Calls `body` with each state, as long as the task lives.
  let watch: @Sendable (Resource, _ polling: Duration, _ body: (Seen) -> Void) async -> Void

  init<Model: Paper>(_ kind: Place.Kind, _ reactor: Reactor<Model>) {
    self.kind = kind
    fetch = { try await reactor.fetch($0, policy: $1).document }
    save = { try await reactor.save(Model($0), for: $1) }
    invalidate = { await reactor.invalidate($0) }
    remove = { try await reactor.remove($0) }
    cached = { reactor.cached($0)?.document }
    watch = { resource, polling, body in
      for await state in reactor.states(for: resource, polling: polling) {
        body(
          Seen(
            document: state.value?.document, error: state.error, fetchStatus: state.fetchStatus,
            isStale: state.isStale))
      }
    }
  }
}

extension Place {
  /// The field in which a request says its type.
  static let kindField = HTTPField.Name("X-Kind") ?? .range

  func resource(_ method: HTTPRequest.Method = .get) -> Resource {
    Resource(path, method: method, headers: [Self.kindField: kind.rawValue, .acceptLanguage: language])
  }

  /// Of all types, in all languages.
  static func all(_ owner: String) -> [Place] {
    ReferenceModel.paths.flatMap { path in
      Kind.allCases.flatMap { kind in
        languages.map { Place(owner: owner, path: path, kind: kind, language: $0) }
      }
    }
  }
}
