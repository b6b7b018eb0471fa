import Foundation
import Synchronization

/// The answer to a fetch, with all that a ``ModelResponse`` needs.
struct EngineAnswer: Sendable {
  let copy: Copy
  let origin: Origin
  let isFresh: Bool
  /// When it was looked at.
  let date: Date
  let resource: Resource
  /// The URL that was asked for; `nil` without a backend.
  let url: String?
  let secretQueryItems: Set<String>
}

extension ReactorEngine {
  /// The same as a fetch, with the exchange that the model was made from.
  func answer(_ resource: Resource, _ policy: FetchPolicy) async throws(ReactorError) -> EngineAnswer {
    let key = try flow.key(resource)
    let known = state.withLock { $0.memory.entries[key]?.copy }
    let copy = resource.readsOnly ? try await fetch(resource, policy) : try await send(resource, policy)
    let now = now
    return EngineAnswer(
      copy: copy, origin: copy === known ? .memory : copy.origin,
      isFresh: standing(copy, for: resource, at: now)?.isFresh == true, date: now, resource: resource,
      url: try core.backend?.request(for: resource).absoluteURL,
      secretQueryItems: flow.configuration.secretQueryItems)
  }
}
