extension Store {
  /// Notifies the observers that the store has changed.
  ///
  /// While an action is handled, observers are notified after its handlers have run, and once even
  /// if this was called several times. Of several errors, the last one counts. Otherwise observers
  /// are notified at once.
  ///
  /// - Parameter error: The reason, if the change is a failure.
  public func emitChange(error: (any Error)? = nil) { context.change(self, error) }

  /// Calls `body` after each change, on the main actor, in the order in which observers were added.
  ///
  /// ```swift
  /// session.observe(self) { session, error in show(session.user) }
  /// ```
  ///
  /// The observation ends when `owner` is released or the token is cancelled; there is nothing to
  /// unregister. `owner` is not retained during the observation, only during a call of `body`.
  ///
  /// An observer that is added during a notification is called from the next change on. An observer
  /// that ends during a notification is not called again. Actions that `body` dispatches are
  /// handled after all observers have been called.
  ///
  /// `body` must not capture `owner` strongly, or neither is ever released. Use
  /// ``observe(_:id:initially:with:)`` or `[weak self]`.
  ///
  /// - Parameters:
  ///   - id: With an id, the observation replaces the owner's earlier one with that id. So an
  ///     observer that registers each time it appears is called once. Default: `nil`, for an
  ///     observation beside the others.
  ///   - initially: `true` to call `body` at once, too, with the present state and no error, before
  ///     the method returns. Actions that it dispatches then are handled after it. Default:
  ///     `false`.
  @discardableResult
  public func observe(
    _ owner: AnyObject, id: AnyHashable? = nil, initially: Bool = false,
    _ body: @escaping @MainActor (_ store: Self, _ error: (any Error)?) -> Void
  ) -> ChangeToken {
    let token = context.observers.add(owner, id: id) { _, store, error in
      // A context notifies only about its own store. A dynamic cast would cost as much as the rest.
      if type(of: store) == Self.self { body(unsafeDowncast(store, to: Self.self), error) }
    }
    if initially { context.perform { body(self, nil) } }
    return token
  }

  /// Calls `body` after each change, as ``observe(_:id:initially:_:)`` does, and passes it the
  /// owner, so that it need not capture it.
  ///
  /// ```swift
  /// session.observe(self) { screen, session, error in screen.show(session.user, error) }
  /// ```
  @discardableResult
  public func observe<Owner: AnyObject>(
    _ owner: Owner, id: AnyHashable? = nil, initially: Bool = false,
    with body: @escaping @MainActor (_ owner: Owner, _ store: Self, _ error: (any Error)?) -> Void
  ) -> ChangeToken {
    let token = context.observers.add(owner, id: id) { owner, store, error in
      guard type(of: store) == Self.self else { return }
      // As above. The owner has the type that it was passed with.
      body(unsafeDowncast(owner, to: Owner.self), unsafeDowncast(store, to: Self.self), error)
    }
    if initially { context.perform { body(owner, self, nil) } }
    return token
  }

  /// A stream of the changes from now on. Of several changes that the reader has not seen, only the
  /// latest is buffered.
  ///
  /// ```swift
  /// for await change in session.changes { show(session.user, error: change.error) }
  /// ```
  ///
  /// Each access makes a new stream, for one iteration. It ends when the iterating task is
  /// cancelled or the store is released.
  public var changes: AsyncStream<StoreChange> {
    let (stream, continuation) = AsyncStream.makeStream(of: StoreChange.self, bufferingPolicy: .bufferingNewest(1))
    let feed = ChangeFeed(continuation)
    let token = context.observers.add(self) { feed.yield(StoreChange(error: $2)) }
    continuation.onTermination = { _ in token.cancel() }
    return stream
  }
}

/// A change of a store.
public struct StoreChange: Sendable {
  /// The error passed to ``Store/emitChange(error:)``; `nil` if the change is not a failure.
  public let error: (any Error)?
}

/// Finishes its stream when it is released. The store's observer retains it, so the stream ends
/// with the store.
final class ChangeFeed<Element: Sendable>: Sendable {
  private let continuation: AsyncStream<Element>.Continuation

  init(_ continuation: AsyncStream<Element>.Continuation) { self.continuation = continuation }

  deinit { continuation.finish() }

  func yield(_ element: Element) { continuation.yield(element) }
}
