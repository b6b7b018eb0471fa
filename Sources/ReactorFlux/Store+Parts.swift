extension Store {
  /// Calls `body` with a part of the store: with the present one at once, and then each time that
  /// the part has changed.
  ///
  /// ```swift
  /// session.observe(self, of: \.user) { screen, user in screen.show(user) }
  /// ```
  ///
  /// A change of another part does not call it. Part and body run on the main actor; the
  /// observation ends as described for ``observe(_:id:initially:_:)``. For an error without a new
  /// part, observe the store.
  ///
  /// - Parameters:
  ///   - part: A closure that reads the part, after each change of the store. For one that is
  ///     costly to derive, see ``StoreSelector``.
  ///   - id: With an id, the observation replaces the owner's earlier one with that id.
  ///   - initially: `false` to wait for the first change. Default: `true`.
  @discardableResult
  public func observe<Owner: AnyObject, Part: Equatable>(
    _ owner: Owner, of part: @escaping (Self) -> Part, id: AnyHashable? = nil, initially: Bool = true,
    with body: @escaping @MainActor (_ owner: Owner, _ part: Part) -> Void
  ) -> ChangeToken {
    let latest = LatestPart(part(self))
    let token = context.observers.add(owner, id: id) { owner, store, _ in
      guard type(of: store) == Self.self else { return }
      // As in `observe(_:id:initially:with:)`.
      let now = part(unsafeDowncast(store, to: Self.self))
      if latest.replace(with: now) { body(unsafeDowncast(owner, to: Owner.self), now) }
    }
    if initially { context.perform { body(owner, latest.value) } }
    return token
  }

  /// A stream of a part of the store: first the present one, and then each other one.
  ///
  /// ```swift
  /// for await user in session.values(of: \.user) { show(user) }
  /// ```
  ///
  /// Of several that the reader has not seen, only the latest is buffered: after a part that was
  /// there for a moment, the reader may get the one before again. The stream is for one iteration,
  /// and ends when the iterating task is cancelled or the store is released.
  public func values<Part: Equatable & Sendable>(
    of part: @escaping (Self) -> Part
  ) -> AsyncStream<Part> {
    let (stream, continuation) = AsyncStream.makeStream(of: Part.self, bufferingPolicy: .bufferingNewest(1))
    let latest = LatestPart(part(self))
    continuation.yield(latest.value)
    let feed = ChangeFeed(continuation)
    let token = context.observers.add(self) { _, store, _ in
      guard type(of: store) == Self.self else { return }
      let now = part(unsafeDowncast(store, to: Self.self))
      if latest.replace(with: now) { feed.yield(now) }
    }
    continuation.onTermination = { _ in token.cancel() }
    return stream
  }
}

/// The part that an observer knows.
@MainActor private final class LatestPart<Part: Equatable> {
  private(set) var value: Part

  init(_ value: Part) { self.value = value }

  /// Returns `false` if the part is the known one.
  func replace(with now: Part) -> Bool {
    guard now != value else { return false }
    value = now
    return true
  }
}
