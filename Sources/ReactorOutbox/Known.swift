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
    // What an accepted write has made of a response is another value than the one that the tag is
    // of. If the server has the tag's value still, others have changed it since that write.
    let isOfResponse = tag?.isOfPut != true
    asked.note(tag?.text, of: resource, isOutdated: isOfResponse && confirmed.hasAcceptedDrafts)
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
    /// A Boolean value that indicates whether it is from the response to a `PUT` of this outbox.
    let isOfPut: Bool
  }

  private func tag(of resource: Resource, _ head: Record.Head?) -> Tag? {
    if let tag = tags.tag(of: resource, in: layer, notBefore: head?.receivedAt) { return Tag(text: tag, isOfPut: true) }
    return head?.fields[.eTag].flatMap { $0.hasPrefix("W/") ? nil : Tag(text: $0, isOfPut: false) }
  }
}

/// The resources that a request was made from.
final class Asked: Sendable {
  typealias Refresh = @Sendable (LayerContext) async throws -> Void

  private let state = Mutex<[(resource: Resource, refresh: Refresh)]>([])
  private struct ReadTag {
    let resource: Resource
    let tag: String?
    /// A Boolean value that indicates whether the value is newer than the tag.
    let isOutdated: Bool
    var isUsed = false
  }

  /// The entity tags of the values that were read.
  private let tags = Mutex<[ReadTag]>([])

  /// A Boolean value that indicates whether the request has a tag that is older than the value that
  /// it was made from.
  var hasOutdatedTag: Bool { tags.withLock { $0.contains { $0.isOutdated && $0.isUsed } } }

  /// Fetches the resources, past the cache.
  ///
  /// - Throws: the error of the first fetch that fails.
  func refresh(in layer: LayerContext) async throws {
    for refresh in state.withLock({ $0.map(\.refresh) }) { try await refresh(layer) }
  }

  func note(_ tag: String?, of resource: Resource, isOutdated: Bool) {
    tags.withLock { tags in
      tags.removeAll { $0.resource == resource }
      tags.append(ReadTag(resource: resource, tag: tag, isOutdated: isOutdated && tag != nil))
    }
  }

  /// Returns the tag of the value that was read, for the request; `nil` if none was.
  func useTag(of resource: Resource) -> String?? {
    tags.withLock { tags in
      guard let index = tags.firstIndex(where: { $0.resource == resource }) else { return nil }
      tags[index].isUsed = true
      return .some(tags[index].tag)
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
