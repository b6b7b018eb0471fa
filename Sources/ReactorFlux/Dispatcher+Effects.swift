extension Dispatcher {
  /// Starts `effect` in a new task, and dispatches its result, or the error that it throws, as one
  /// action.
  ///
  /// ```swift
  /// dispatcher.start(.found, id: "search") { try await api.search(text) }
  /// ```
  ///
  /// With an id, it cancels the effect that was started with that id and has not ended: of several
  /// searches, only the last one dispatches. The dispatcher does not wait for the cancelled one,
  /// and is not retained by an effect: releasing the dispatcher cancels its effects.
  ///
  /// A cancelled effect dispatches nothing, even if it ignores the cancellation, and so does one
  /// that throws `CancellationError`. While a log is replayed, nothing is started, since the log
  /// has the action. A handler starts its effects with ``Store/start(_:id:from:)``.
  ///
  /// - Parameters:
  ///   - event: The event of the action.
  ///   - id: The id of the effect among those of this dispatcher. Default: `nil`, for an effect
  ///     that no other replaces.
  ///   - effect: The work. It runs on the main actor until its first suspension.
  /// - Returns: The task, which ends when the action was handled. Cancelling it cancels the effect.
  @discardableResult
  public func start<Payload>(
    _ event: Event<Payload>, id: AnyHashable? = nil, from effect: @escaping @Sendable () async throws -> Payload
  ) -> Task<Void, Never> {
    start(event, as: id.map { .init(store: nil, id: $0) }, from: effect)
  }

  /// Dispatches each element of a sequence as an action until it ends, and an error that it throws
  /// as the last one. It is cancelled like ``start(_:id:from:)``.
  ///
  /// ```swift
  /// dispatcher.start(.moved, id: "location", each: locations)
  /// ```
  ///
  /// - Parameters:
  ///   - event: The event of the actions.
  ///   - id: The id of the effect among those of this dispatcher.
  ///   - elements: The sequence. It is iterated on the main actor: the next element is asked for
  ///     once the action of the last one was handled.
  /// - Returns: The task, which ends with the sequence.
  @discardableResult
  public func start<Payload>(
    _ event: Event<Payload>, id: AnyHashable? = nil, each elements: some AsyncSequence<Payload, any Error> & Sendable
  ) -> Task<Void, Never> {
    start(event, as: id.map { .init(store: nil, id: $0) }, each: elements)
  }

  /// Cancels the effect that was started with this id, if it has not ended. It dispatches nothing
  /// from now on.
  public func cancelEffect(id: AnyHashable) { effects.cancel(.init(store: nil, id: id)) }

  /// Cancels all effects, also those that stores have started.
  public func cancelEffects() { effects.cancelAll() }

  /// The number of effects that have not ended.
  package var runningEffects: Int { effects.count }

  /// Returns when no effect is running.
  package func effectsSettled() async { await effects.settled() }
}

extension Store {
  /// Starts an effect, as ``Dispatcher/start(_:id:from:)`` does. Call it in a handler.
  ///
  /// ```swift
  /// .on(.typed) { store, action in
  ///   guard let text = action.payload else { return }
  ///   try store.start(.found, id: "search") { try await api.search(text) }
  /// }
  /// ```
  ///
  /// The id is one among those of this store: another store's effect with the same id continues.
  /// The effect is cancelled when the dispatcher, and so the store, is released.
  ///
  /// - Throws: ``FluxError/notRegistered(store:)``, also in the store's `init`.
  @discardableResult
  public func start<Payload>(
    _ event: Event<Payload>, id: AnyHashable? = nil, from effect: @escaping @Sendable () async throws -> Payload
  ) throws(FluxError) -> Task<Void, Never> {
    try registered.start(event, as: id.map(effectKey), from: effect)
  }

  /// Dispatches each element of a sequence, as ``Dispatcher/start(_:id:each:)`` does, with an id
  /// among those of this store.
  ///
  /// - Throws: ``FluxError/notRegistered(store:)``, also in the store's `init`.
  @discardableResult
  public func start<Payload>(
    _ event: Event<Payload>, id: AnyHashable? = nil, each elements: some AsyncSequence<Payload, any Error> & Sendable
  ) throws(FluxError) -> Task<Void, Never> {
    try registered.start(event, as: id.map(effectKey), each: elements)
  }

  /// Cancels the effect that this store has started with this id, if it has not ended. It
  /// dispatches nothing from now on.
  public func cancelEffect(id: AnyHashable) { context.dispatcher?.effects.cancel(effectKey(id)) }

  private func effectKey(_ id: AnyHashable) -> EffectTable.Key { .init(store: ObjectIdentifier(self), id: id) }

  private var registered: Dispatcher {
    get throws(FluxError) {
      guard let dispatcher = context.dispatcher else { throw .notRegistered(store: typeName(Self.self)) }
      return dispatcher
    }
  }
}

extension Dispatcher {
  fileprivate func start<Payload>(
    _ event: Event<Payload>, as key: EffectTable.Key?, from effect: @escaping @Sendable () async throws -> Payload
  ) -> Task<Void, Never> {
    guard !isReplayingLog else { return Task {} }
    return effects.start(key) { [weak self] end in
      let action: Action<Payload>
      do {
        action = Action(event, try await effect())
      } catch is CancellationError {
        return
      } catch {
        action = Action(event, error: error)
      }
      // No suspension from here on: an effect that is cancelled later has dispatched.
      guard !Task.isCancelled else { return }
      end()
      self?.dispatch(action)
    }
  }

  fileprivate func start<Payload>(
    _ event: Event<Payload>, as key: EffectTable.Key?, each elements: some AsyncSequence<Payload, any Error> & Sendable
  ) -> Task<Void, Never> {
    guard !isReplayingLog else { return Task {} }
    return effects.start(key) { [weak self] end in
      do {
        for try await element in elements {
          guard !Task.isCancelled else { return }
          self?.dispatch(event, element)
        }
      } catch is CancellationError {
      } catch {
        guard !Task.isCancelled else { return }
        end()
        self?.dispatch(event, error: error)
      }
    }
  }
}
