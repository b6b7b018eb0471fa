import Foundation
import HTTPCaching
import HTTPTypes
public import ReactorCore
import Synchronization

/// The values that the server has confirmed, for ``Mutation/request(_:)``.
///
/// ```swift
/// func request(_ known: Known) async throws -> Resource {
///   let cart = await known.value(Cart.self, at: "cart")
///   return try Resource("orders", method: .post, json: ["items": cart?.items ?? []])
/// }
/// ```
///
/// After a conflict, `request` is called again with newer values of the resources that it has read.
public struct Known: Sendable {
  let layer: LayerContext
  let drafts: Drafts
  let tags: EntityTags
  /// The copies that were fetched for this request.
  var fetched = FetchedCopies()
  let asked = Asked()

  /// Returns the confirmed value of a resource with the mutation's own draft: from memory or else
  /// from persistence, without drafts of pending writes. It never sends a request.
  ///
  /// ```swift
  /// let post = await known.value(Post.self, at: "posts/7")
  /// ```
  public func value<Model: Sendable>(_ type: Model.Type, at resource: Resource) async -> Model? {
    asked.note(resource) { try await FetchedCopies.Copy($0, resource, as: type, for: $1) }
    let copy = fetched.copy(of: resource)
    // The tag must come from the same response as the value. With a newer tag, the write would undo
    // changes that other clients made in between.
    let confirmed: LayerContext.Confirmed<Model>
    var tag: Tag?
    if let known = copy?.value as? LayerContext.Confirmed<Model> {
      (confirmed, tag) = (known, copy?.tag.map { Tag(text: $0) })
    } else {
      confirmed = await layer.confirmed(resource, as: type)
      tag = self.tag(of: resource, confirmed.head)
    }
    // A value that another accepted write changed is not the tag's value. If the server still has
    // the tag's value, other clients have reverted that write.
    let isOutdated = tag.map { !confirmed.acceptedWrites.isSubset(of: $0.writes) } ?? false
    asked.note(
      Asked.Value(
        resource: resource, tag: tag?.text, isOutdated: isOutdated, url: try? layer.key(resource).url,
        writes: confirmed.acceptedWrites))
    return drafts.applied(to: confirmed.model, of: resource, key: layer.key)
  }

  /// Returns the strong entity tag of the confirmed value, for `If-Match` (RFC 9110 §13.1.1). It
  /// belongs to the value that ``value(_:at:)`` has returned, or to the newest response if that was
  /// not called. A response to a `PUT` of this outbox counts, too.
  ///
  /// ```swift
  /// var request = try Resource("posts/7", method: .patch, json: ["title": title])
  /// request.headers[.ifMatch] = try await known.entityTag(of: "posts/7")
  /// ```
  ///
  /// If no tag is known, or only the tag of a compressed response, the method fetches the resource
  /// once. If the value was read before, or an accepted write has changed it since, the outbox then
  /// calls `request` once more with the newer value, before it sends anything.
  ///
  /// - Throws: The error of the fetch, and `ReactorError.network` with
  ///   ``MutationError/noEntityTag(of:)`` if the server gives no strong tag. Unless you catch it,
  ///   the write is refused, and nothing is sent.
  public func entityTag(of resource: Resource) async throws -> String {
    let known = asked.useTag(of: resource)
    if let tag = known ?? nil { return tag }
    var copy = fetched.copy(of: resource)
    if known == nil {
      asked.noteIfNew(resource) { try await FetchedCopies.Copy($0, resource, as: Void.self, for: $1) }
      if copy == nil, let tag = tag(of: resource, await layer.head(of: resource))?.text {
        asked.noteGiven(tag, of: resource)
        return tag
      }
    }
    if copy?.tag == nil, copy?.isForTag != true {
      copy = try await asked.fetch(resource, in: layer)
      fetched.note(copy, of: resource)
    }
    guard let tag = copy?.tag else { throw ReactorError.network(MutationError.noEntityTag(of: "\(resource)")) }
    asked.noteGiven(tag, of: resource)
    return tag
  }

  private struct Tag: Equatable {
    let text: String
    /// The accepted writes of this outbox that the tag's value contains. For a response to a `GET`
    /// they are unknown, and no longer drafts.
    var writes: Set<UUID> = []
  }

  private func tag(of resource: Resource, _ head: Record.Head?) -> Tag? {
    if let known = tags.tag(of: resource, in: layer, notBefore: head?.receivedAt) {
      return Tag(text: known.tag, writes: known.writes)
    }
    return head?.fields[.eTag].flatMap { $0.isTagOfUncodedContent ? Tag(text: $0) : nil }
  }
}

extension String {
  /// A Boolean value that indicates whether the text is a strong entity tag (RFC 9110 §8.8.3).
  fileprivate var isStrongTag: Bool { hasPrefix("\"") }

  /// A Boolean value that indicates whether the text is a strong entity tag without the name of a
  /// content coding. Servers that send tags such as `"1-gzip"` do not accept them in `If-Match`.
  var isTagOfUncodedContent: Bool {
    guard isStrongTag else { return false }
    let words = dropFirst().prefix { $0 != "\"" }.split { "-;:._+/".contains($0) }
    return words.count < 2 || !["gzip", "gz", "br", "deflate", "zstd"].contains(words.last?.lowercased())
  }
}

/// The copies of resources that were fetched for one request of a mutation.
final class FetchedCopies: Sendable {
  struct Copy: Sendable {
    /// The entity tag to guard a change with.
    let tag: String?
    /// The value, a `LayerContext.Confirmed`.
    let value: any Sendable
    /// A Boolean value that indicates whether the copy was fetched only for its tag.
    let isForTag: Bool

    /// Fetches a resource.
    init<Model: Sendable>(
      _ layer: LayerContext, _ resource: Resource, as type: Model.Type, for purpose: Asked.Purpose
    ) async throws {
      isForTag = purpose != .value
      let stored = purpose == .tag ? await layer.head(of: resource)?.fields[.eTag] : nil
      if stored?.isTagOfUncodedContent ?? true {
        let copy = try await layer.refresh(resource, as: type)
        let found = copy.head?.fields[.eTag]
        let guards = found?.isTagOfUncodedContent == true
        if guards || found == nil || purpose == .value {
          (tag, value) = (guards ? found : nil, copy)
          return
        }
      }
      let copy = try await layer.fetchUncoded(resource, as: type)
      (tag, value) = (copy.head?.fields[.eTag].flatMap { $0.isStrongTag ? $0 : nil }, copy)
    }
  }

  private let copies = Mutex<[Resource: Copy]>([:])

  func copy(of resource: Resource) -> Copy? { copies.withLock { $0[resource] } }

  func note(_ copy: Copy?, of resource: Resource) { copies.withLock { $0[resource] = copy } }
}

/// The resources that a request was made from.
final class Asked: Sendable {
  /// The purpose of a fetch. If a tag cannot guard a write because the response was compressed, the
  /// resource is fetched once more without compression.
  enum Purpose: Sendable { case value, tag, newerValueAndTag }

  typealias Fetch = @Sendable (LayerContext, Purpose) async throws -> FetchedCopies.Copy

  private let state = Mutex<[(resource: Resource, fetch: Fetch)]>([])
  /// A value that was read, and its entity tag.
  struct Value: Sendable {
    let resource: Resource
    let tag: String?
    /// A Boolean value that indicates whether the value is newer than the tag.
    let isOutdated: Bool
    let url: String?
    /// The accepted writes of this outbox whose drafts were applied to it.
    let writes: Set<UUID>
    fileprivate var isUsed = false

    init(resource: Resource, tag: String?, isOutdated: Bool, url: String?, writes: Set<UUID>) {
      (self.resource, self.tag, self.isOutdated) = (resource, tag, isOutdated)
      (self.url, self.writes) = (url, writes)
    }
  }

  private let values = Mutex<[Value]>([])
  /// The tags that the request has received, by resource.
  private let given = Mutex<[Resource: String]>([:])

  /// A Boolean value that indicates whether the request has a tag of another version than the value
  /// that it was made from.
  var hasOutdatedTag: Bool {
    let given = given.withLock(\.self)
    return values.withLock { values in
      values.contains { value in
        value.isOutdated && value.isUsed || given[value.resource].map { $0 != value.tag } ?? false
      }
    }
  }

  /// The accepted writes in the value that was read from a URL; empty if it was not read.
  func writes(at url: String) -> Set<UUID> {
    values.withLock { values in values.last { $0.url == url }?.writes ?? [] }
  }

  /// Fetches the resources, past the cache, except resources that were fetched already.
  ///
  /// - Throws: the error of the first fetch that fails.
  func refresh(in layer: LayerContext, into fetched: FetchedCopies) async throws {
    for (resource, fetch) in state.withLock(\.self) where fetched.copy(of: resource) == nil {
      fetched.note(try await fetch(layer, needsTag(of: resource) ? .newerValueAndTag : .value), of: resource)
    }
  }

  /// Fetches a resource for its tag.
  func fetch(_ resource: Resource, in layer: LayerContext) async throws -> FetchedCopies.Copy? {
    try await state.withLock { $0.last { $0.resource == resource }?.fetch }?(layer, .tag)
  }

  private func needsTag(of resource: Resource) -> Bool {
    given.withLock { $0[resource] != nil } || values.withLock { $0.contains { $0.resource == resource && $0.isUsed } }
  }

  func note(_ value: Value) {
    values.withLock { values in
      values.removeAll { $0.resource == value.resource }
      values.append(value)
    }
  }

  /// Records the tag that the request receives.
  func noteGiven(_ tag: String, of resource: Resource) { given.withLock { $0[resource] = tag } }

  /// Returns the tag of the value that was read, for the request; `nil` if none was.
  func useTag(of resource: Resource) -> String?? {
    values.withLock { values in
      guard let index = values.firstIndex(where: { $0.resource == resource }) else { return nil }
      values[index].isUsed = true
      return .some(values[index].tag)
    }
  }

  func note(_ resource: Resource, _ fetch: @escaping Fetch) {
    state.withLock { state in
      state.removeAll { $0.resource == resource }
      state.append((resource, fetch))
    }
  }

  func noteIfNew(_ resource: Resource, _ fetch: @escaping Fetch) {
    state.withLock { state in
      guard !state.contains(where: { $0.resource == resource }) else { return }
      state.append((resource, fetch))
    }
  }
}

/// The entity tags in responses to `PUT` (RFC 9110 §9.3.4): they count until a newer response to a
/// `GET`.
final class EntityTags: Sendable {
  /// A tag, and the accepted writes of this outbox that its value contains.
  struct PutTag: Sendable {
    let tag: String
    let writes: Set<UUID>
    fileprivate let date: Date
  }

  private let state = Mutex<[String: PutTag]>([:])
  /// The tags that are kept.
  private static let limit = 1_000

  /// Records the tag of an accepted response. Any other method than `PUT` leaves no tag: the one of
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
      guard let tag, tag.isTagOfUncodedContent else { return state[sent.key.url] = nil }
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
