extension Store {
  /// Tells the observers that the store has changed.
  ///
  /// While an action is being handled: once its handlers have run, and once however often it was called; of several errors the last
  /// counts. Otherwise now.
  ///
  /// - Parameter error: what the change was about, where it failed.
  public func emitChange(error: (any Error)? = nil) { context.change(self, error) }

  /// Calls `body` after each change, on the main actor, in the order in which observers were added.
  ///
  /// The observation ends with `owner`, which is not retained, or when the token is cancelled; it needs no unregistering. An
  /// observer that is added while observers are called is called from the next change on; one that ends is not called any more. What
  /// it dispatches is handled after all of them. An owner that is released within `body` ends with that call.
  ///
  /// `body` must not capture `owner` strongly, or neither ends: use ``observe(_:with:)``, or `[weak self]`.
  @discardableResult
  public func observe(
    _ owner: AnyObject, _ body: @escaping @MainActor (_ store: Self, _ error: (any Error)?) -> Void
  ) -> ChangeToken {
    context.observers.add(owner) { _, store, error in
      // A context is told of its own store. A dynamic cast would cost as much as the rest.
      if type(of: store) == Self.self { body(unsafeDowncast(store, to: Self.self), error) }
    }
  }

  /// As ``observe(_:_:)``, and gives the owner to `body`, which so need not capture it.
  ///
  /// ```swift
  /// session.observe(self) { screen, session, error in screen.show(session.user, error) }
  /// ```
  @discardableResult
  public func observe<Owner: AnyObject>(
    _ owner: Owner, with body: @escaping @MainActor (_ owner: Owner, _ store: Self, _ error: (any Error)?) -> Void
  ) -> ChangeToken {
    context.observers.add(owner) { owner, store, error in
      guard type(of: store) == Self.self else { return }
      // As above; and the owner is the one that was given.
      body(unsafeDowncast(owner, to: Owner.self), unsafeDowncast(store, to: Self.self), error)
    }
  }

  /// The changes from now on, the latest only: of several that nobody has taken yet, the last stays.
  ///
  /// A new sequence per access, for one iteration. It ends when the iterating task is cancelled, and with the store.
  public var changes: AsyncStream<StoreChange> {
    let (stream, continuation) = AsyncStream.makeStream(of: StoreChange.self, bufferingPolicy: .bufferingNewest(1))
    let feed = ChangeFeed(continuation)
    let token = context.observers.add(self) { feed.yield($2) }
    continuation.onTermination = { _ in token.cancel() }
    return stream
  }
}

/// A change of a store.
public struct StoreChange: Sendable {
  /// What ``Store/emitChange(error:)`` was given.
  public let error: (any Error)?
}

/// Ends its sequence when it is released, which is when the store is.
private final class ChangeFeed: Sendable {
  private let continuation: AsyncStream<StoreChange>.Continuation

  init(_ continuation: AsyncStream<StoreChange>.Continuation) { self.continuation = continuation }

  deinit { continuation.finish() }

  func yield(_ error: (any Error)?) { continuation.yield(StoreChange(error: error)) }
}
