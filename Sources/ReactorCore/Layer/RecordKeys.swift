import Foundation
import HTTPTypes
import Synchronization

/// Creates the keys of one backend and one scope. A resource caches the key that was created for it
/// last, and the latest keys are found for other resources that are equal: programs name the same
/// few again and again, with a literal or in a draft.
final class RecordKeys: Sendable {
  private static let count = Atomic<UInt64>(0)

  /// A number that no other instance of this process has.
  private let id = RecordKeys.count.add(1, ordering: .relaxed).newValue
  private let backend: Backend?
  private let scope: Scope
  private let secretQueryItems: Set<String>
  private let digests: SecretDigests
  /// The latest keys, each at the place of its resource's hash; empty until the first.
  private let latest = Mutex<[(resource: Resource, key: RecordKey)?]>([])
  private static let (places, largestBody) = (64, 4_096)

  init(backend: Backend?, scope: Scope, secretQueryItems: Set<String>, digests: SecretDigests) {
    self.backend = backend
    self.scope = scope
    self.secretQueryItems = secretQueryItems
    self.digests = digests
  }

  /// Returns the key of `resource`.
  ///
  /// - Parameter secretQueryItems: the flow's names, which may differ from the layer's.
  /// - Throws: ``ReactorError/invalidResource(_:)`` if the resource has no valid URL, or a secret
  ///   field among its identity headers.
  func key(_ resource: Resource, secretQueryItems: Set<String>) throws(ReactorError) -> RecordKey {
    guard secretQueryItems == self.secretQueryItems else { return try make(resource, secretQueryItems) }
    return try resource.key(from: id) { () throws(ReactorError) in
      guard resource.form == nil,
        resource.body.map({ resource.readsOnly && $0.count <= Self.largestBody }) ?? true
      else { return try make(resource, secretQueryItems) }
      let place = Int(UInt(bitPattern: resource.hashValueOnce) % UInt(Self.places))
      if let found = latest.withLock({ $0.isEmpty ? nil : $0[place] }), found.resource == resource { return found.key }
      let key = try make(resource, secretQueryItems)
      latest.withLock { latest in
        if latest.isEmpty { latest = Array(repeating: nil, count: Self.places) }
        latest[place] = (resource, key)
      }
      return key
    }
  }

  /// Forgets the resources, whose bodies may be a user's.
  func forgetLatest() { latest.withLock { $0 = [] } }

  private func make(_ resource: Resource, _ secretQueryItems: Set<String>) throws(ReactorError) -> RecordKey {
    try RecordKey(resource, backend: backend, scope: scope, secretQueryItems: secretQueryItems, digests: digests)
  }
}

extension RecordKey {
  /// Creates the key of `resource`. Without a backend there is no base URL, and the path is used as
  /// it is.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)`` if the resource has no valid URL, has a secret
  ///   field among its identity headers, or is a QUERY without `Content-Type`.
  init(
    _ resource: Resource, backend: Backend?, scope: Scope, secretQueryItems: Set<String>,
    digests: SecretDigests
  ) throws(ReactorError) {
    if let name = resource.identityHeaders.first(where: StoredFields.secret.contains) {
      throw .invalidResource("\(name) cannot be an identity header; make a layer with a scope for each user instead")
    }
    if resource.form != nil, resource.readsOnly {
      throw .invalidResource("a form is uploaded, and \(resource) only reads; use POST, or the query for a search")
    }
    let isQuery = resource.method == .query
    guard !isQuery || resource.headers.contains(.contentType) else {
      throw .invalidResource(
        "\(resource) has no Content-Type, which says what its body means (RFC 10008 §2); set it, or use json: or form:")
    }
    let url = if let backend { try backend.url(of: resource) } else { try resource.pathAndQuery() }
    let names = resource.identityHeaders.union(isQuery ? resource.headers.ofContent.map(\.name) : [])
    self.init(
      method: resource.method, url: url,
      body: isQuery ? resource.body ?? Data() : resource.body,
      identityFields: resource.headers.filter { names.contains($0.name) },
      scope: scope, secretQueryItems: secretQueryItems, digests: digests)
  }
}
