import Foundation
import HTTPCaching
import HTTPTypes
public import ReactorCore
import Synchronization

/// The values that the server has confirmed, for ``Mutation/request(_:)``.
///
/// A conflict is rebased on newer values of the resources that were read here.
public struct Known: Sendable {
  let layer: LayerContext
  let drafts: Drafts
  let tags: EntityTags
  let asked = Asked()

  /// Returns the confirmed value of a resource with the mutation's own draft: from memory, else
  /// from persistence. Drafts of writes that are still pending are not in it. It never asks the
  /// network.
  public func value<Model: Sendable>(_ type: Model.Type, at resource: Resource) async -> Model? {
    asked.note(resource) { layer in try await layer.refresh(resource, as: type) }
    // The tag is that of the very response that the value was made of: a newer one would put back
    // what others have changed.
    let confirmed = await layer.confirmed(resource, as: type)
    let tag = tag(of: resource, confirmed.head)
    // What another accepted write has made of a value is not the value that the tag is of. If the
    // server has the tag's value still, others have changed it since that write.
    let isOutdated = tag.map { !confirmed.acceptedDrafts.isSubset(of: $0.writes) } ?? false
    asked.note(
      Asked.Value(
        resource: resource, tag: tag?.text, isOutdated: isOutdated, url: try? layer.key(resource).url,
        writes: confirmed.acceptedDrafts))
    return drafts.applied(to: confirmed.model, of: resource, key: layer.key)
  }

  /// Returns the strong entity tag of the confirmed value, for `If-Match` (RFC 9110 §13.1.1).
  ///
  /// Where an accepted write has changed that value since, the tag is not the value's. The outbox
  /// then fetches the resource and makes the request once more, before it sends anything.
  ///
  /// - Returns: The `ETag` of the response that ``value(_:at:)`` has returned the value of; of the
  ///   newest response, if it was not called. A response to a `PUT` of this outbox counts, too.
  ///   `nil` if there is none, or a weak one.
  public func entityTag(of resource: Resource) async -> String? {
    if let known = asked.useTag(of: resource) { return known }
    asked.noteIfNew(resource) { layer in try await layer.refresh(resource, as: Void.self) }
    return tag(of: resource, await layer.head(of: resource))?.text
  }

  private struct Tag: Equatable {
    let text: String
    /// The accepted writes of this outbox that the tag's value has. Those of a response to a `GET`
    /// are not known, and are no drafts any more.
    var writes: Set<UUID> = []
  }

  private func tag(of resource: Resource, _ head: Record.Head?) -> Tag? {
    if let known = tags.tag(of: resource, in: layer, notBefore: head?.receivedAt) {
      return Tag(text: known.tag, writes: known.writes)
    }
    return head?.fields[.eTag].flatMap { $0.hasPrefix("W/") ? nil : Tag(text: $0) }
  }
}

/// The resources that a request was made from.
final class Asked: Sendable {
  typealias Refresh = @Sendable (LayerContext) async throws -> Void

  private let state = Mutex<[(resource: Resource, refresh: Refresh)]>([])
  /// A value that was read, and its entity tag.
  struct Value: Sendable {
    let resource: Resource
    let tag: String?
    /// A Boolean value that indicates whether the value is newer than the tag.
    let isOutdated: Bool
    let url: String?
    /// The accepted writes of this outbox that were drafts over it.
    let writes: Set<UUID>
    fileprivate var isUsed = false

    init(resource: Resource, tag: String?, isOutdated: Bool, url: String?, writes: Set<UUID>) {
      (self.resource, self.tag, self.isOutdated) = (resource, tag, isOutdated)
      (self.url, self.writes) = (url, writes)
    }
  }

  private let values = Mutex<[Value]>([])

  /// A Boolean value that indicates whether the request has a tag that is older than the value that
  /// it was made from.
  var hasOutdatedTag: Bool { values.withLock { $0.contains { $0.isOutdated && $0.isUsed } } }

  /// The accepted writes that are in the value of a URL that was read; none if it was not.
  func writes(at url: String) -> Set<UUID> {
    values.withLock { values in values.last { $0.url == url }?.writes ?? [] }
  }

  /// Fetches the resources, past the cache.
  ///
  /// - Throws: the error of the first fetch that fails.
  func refresh(in layer: LayerContext) async throws {
    for refresh in state.withLock({ $0.map(\.refresh) }) { try await refresh(layer) }
  }

  func note(_ value: Value) {
    values.withLock { values in
      values.removeAll { $0.resource == value.resource }
      values.append(value)
    }
  }

  /// Returns the tag of the value that was read, for the request; `nil` if none was.
  func useTag(of resource: Resource) -> String?? {
    values.withLock { values in
      guard let index = values.firstIndex(where: { $0.resource == resource }) else { return nil }
      values[index].isUsed = true
      return .some(values[index].tag)
    }
  }

  func note(_ resource: Resource, _ refresh: @escaping Refresh) {
    state.withLock { state in
      state.removeAll { $0.resource == resource }
      state.append((resource, refresh))
    }
  }

  func noteIfNew(_ resource: Resource, _ refresh: @escaping Refresh) {
    state.withLock { state in
      guard !state.contains(where: { $0.resource == resource }) else { return }
      state.append((resource, refresh))
    }
  }
}

/// The entity tags in responses to `PUT` (RFC 9110 §9.3.4): they count until a newer response to a
/// `GET`.
final class EntityTags: Sendable {
  /// A tag, and the accepted writes of this outbox that its value has.
  struct PutTag: Sendable {
    let tag: String
    let writes: Set<UUID>
    fileprivate let date: Date
  }

  private let state = Mutex<[String: PutTag]>([:])
  /// The tags that are kept.
  private static let limit = 1_000

  /// Notes the tag of an accepted response. Any other method than `PUT` leaves no tag: the one of
  /// an earlier `PUT` is out of date.
  ///
  /// A write that was accepted after the request was made is not in its value, though its draft is
  /// over the same base.
  ///
  /// - Parameter asked: The values that the request was made from; `nil` if that is not known.
  func note(_ sent: SentRequest, of id: UUID, madeFrom asked: Asked?, at date: Date) {
    let response = sent.key.method == .put && !sent.isSeenElsewhere ? try? sent.result.get().0 : nil
    let tag = response?.headerFields[.eTag]
    state.withLock { state in
      guard let tag, !tag.hasPrefix("W/") else { return state[sent.key.url] = nil }
      if state.count >= Self.limit, let oldest = state.min(by: { $0.value.date < $1.value.date }) {
        state[oldest.key] = nil
      }
      let writes = (asked?.writes(at: sent.key.url) ?? []).union([id])
      state[sent.key.url] = PutTag(tag: tag, writes: writes, date: date)
    }
  }

  /// Returns the tag of the latest `PUT` of a resource, unless a response has been received since.
  func tag(of resource: Resource, in layer: LayerContext, notBefore date: Date?) -> PutTag? {
    guard let key = try? layer.key(resource) else { return nil }
    return state.withLock { state in
      guard let known = state[key.url], date.map({ known.date >= $0 }) ?? true else { return nil }
      return known
    }
  }

  /// Forgets the tag of a URL, which the server has refused.
  func forget(_ url: String) { state.withLock { $0[url] = nil } }

  func removeAll() { state.withLock { $0 = [:] } }
}
