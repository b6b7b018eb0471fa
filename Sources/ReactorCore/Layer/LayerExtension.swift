package import Foundation
package import HTTPCaching

package typealias MakeUpstream = @Sendable (HTTPCache, ReactorConfiguration) -> any LayerUpstream

extension ModelLayer {
  /// A feature that another product adds to a layer, such as an outbox or a fleet.
  ///
  /// ```swift
  /// let layer = ModelLayer(baseURL: api, extensions: [.outbox(outbox), .fleet(fleet)])
  /// ```
  ///
  /// Each product has a factory: `outbox(_:)` in ReactorOutbox, `fleet(_:)` in ReactorFleet. The
  /// order in the list has no effect. A layer has at most one extension of each kind: the last of
  /// several counts.
  ///
  /// An extension is a description. Each layer that gets it creates its own part from it, so one
  /// value may be given to several layers.
  public struct Extension: Sendable {
    /// The type of the part or the upstream. Extensions of one kind have the same.
    fileprivate let kind: ObjectIdentifier
    /// Creates the cache between the layer and the server; `nil` for none.
    fileprivate let makeUpstream: MakeUpstream?
    fileprivate let makePart: @Sendable (LayerContext) -> (any LayerPart)?

    /// Creates an extension that adds a part to each layer.
    ///
    /// - Parameter makePart: Creates the part, before the layer has a reactor.
    package init<Part: LayerPart>(_ makePart: @escaping @Sendable (LayerContext) -> Part) {
      kind = ObjectIdentifier(Part.self)
      makeUpstream = nil
      self.makePart = makePart
    }

    /// Creates an extension with a cache that answers requests before the server does.
    package init<Upstream: LayerUpstream>(
      upstream makeUpstream: @escaping @Sendable (HTTPCache, ReactorConfiguration) -> Upstream
    ) {
      kind = ObjectIdentifier(Upstream.self)
      self.makeUpstream = makeUpstream
      makePart = { _ in nil }
    }
  }
}

/// A part that an extension adds to a layer.
///
/// A layer may have any number of parts, which do not know each other. It retains them for as long
/// as it lives, so a part holds the layer weakly. A part shows changes over cached values by the
/// layer's presentation, and reports events by ``LayerContext/report(_:of:model:)``.
package protocol LayerPart: AnyObject, Sendable {
  /// A Boolean value that indicates whether everything that the part shows over cached values is
  /// known.
  var isReady: Bool { get }

  /// Returns once ``isReady`` is `true`. No flight of the layer loads or requests before.
  func ready() async

  /// Stops what is under way, since everything is about to be removed. Memory is cleared next.
  func willRemoveAll() -> PartRemoval

  /// Continues what waits for connectivity.
  func wentOnline()

  /// Looks at ``LayerContext/isObserved``, which may have changed.
  func observationChanged()

  /// A response of an observed key has arrived, or its record was read, and is out of date by a
  /// change that was told since its request.
  func arrivedOutdated(_ key: RecordKey)

  /// A write is over. What it has changed is stale, or was requested again.
  func writeEnded()
}

extension LayerPart {
  package func observationChanged() {}
  package func arrivedOutdated(_ key: RecordKey) {}
  package func writeEnded() {}
}

/// The share that a part has in a removal of everything.
package struct PartRemoval: Sendable {
  fileprivate let body: @Sendable () async throws -> Void
  fileprivate let end: @Sendable () -> Void

  /// - Parameters:
  ///   - body: Removes what the part stores of the layer's scope and had at the call of
  ///     ``LayerPart/willRemoveAll()``. It runs with exclusive access to every key, or never.
  ///   - end: Ends the removal. It is called once, whether anything was removed or not.
  package init(_ body: @escaping @Sendable () async throws -> Void, end: @escaping @Sendable () -> Void) {
    self.body = body
    self.end = end
  }
}

/// The notes of a part, on disk beside the records of the layer's scope. A removal of everything
/// removes them, too.
extension LayerContext {
  /// Returns the note that was saved under a key; `nil` for none.
  ///
  /// - Throws: the persistence's error, and an error if it takes longer than its budget.
  package func note(of key: RecordKey) async throws -> Data? {
    try await budget.within(key) { [cache, gate] in
      try await gate.with(key) { try await cache.find(key, for: [:]).record?.body }
    }
  }

  /// Saves what `note` returns. A removal of everything that begins later comes after it.
  ///
  /// - Parameter note: Returns the note, or `nil` for nothing to save. A part that has answered
  ///   ``LayerPart/willRemoveAll()`` returns nothing from before.
  package func save(_ key: RecordKey, _ note: () -> Data?) async throws(ReactorError) {
    // First: a removal that begins from here on makes the ticket void.
    let ticket = generations.beginWrite(key)
    guard !generations.isBeingRemoved(key), let note = note() else { return }
    let now = configuration.now()
    let head = Record.Head(identity: key.identity, status: .ok, fields: [:], requestedAt: now, receivedAt: now)
    try await change(ticket) { [cache] in
      try await cache.save(Record(head: head, body: note), for: key)
      ticket.didPersist()
    }
  }
}

extension [ModelLayer.Extension] {
  /// The last extension of each kind.
  private var effective: [ModelLayer.Extension] {
    indices.compactMap { index in
      self[(index + 1)...].contains { $0.kind == self[index].kind } ? nil : self[index]
    }
  }

  /// Creates the cache that answers requests before the server does; `nil` for most layers.
  var makeUpstream: MakeUpstream? { effective.lazy.compactMap(\.makeUpstream).first }

  /// Creates the parts of a layer.
  func makeParts(of layer: LayerContext) -> [any LayerPart] { effective.compactMap { $0.makePart(layer) } }
}

extension [PartRemoval] {
  /// Runs the removal of each part, also after one of them has failed.
  ///
  /// - Throws: The first error.
  func carryOut() async throws {
    var failure: (any Error)?
    for removal in self {
      do { try await removal.body() } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }

  func end() {
    for removal in self { removal.end() }
  }
}
