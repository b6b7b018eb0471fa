import ReactorCore

/// The sequence behind ``Outbox/states``. It keeps the layer alive, as a stream of a resource does.
struct OutboxStates: AsyncSequence, Sendable {
  typealias Element = [Outbox.Entry]
  typealias Failure = Never

  let outbox: Outbox
  let layer: LayerContext?

  func makeAsyncIterator() -> Iterator { Iterator(outbox: outbox, layer: layer) }

  struct Iterator: AsyncIteratorProtocol {
    let outbox: Outbox
    let layer: LayerContext?
    private var seen: UInt64?

    init(outbox: Outbox, layer: LayerContext?) {
      self.outbox = outbox
      self.layer = layer
    }

    mutating func next() async -> [Outbox.Entry]? { await next(isolation: #isolation) }

    mutating func next(isolation actor: isolated (any Actor)?) async -> [Outbox.Entry]? {
      if seen == nil { await outbox.ready() }
      while !Task.isCancelled {
        let seen = seen
        let (version, waiter) = outbox.withState { state -> (UInt64, OneShot<Void>?) in
          (state.version, state.version == seen ? state.addWaiter() : nil)
        }
        guard let waiter else {
          self.seen = version
          return outbox.entries
        }
        await withTaskCancellationHandler {
          await waiter.value
        } onCancel: { [outbox] in
          outbox.withState { $0.removeWaiter(waiter) }
          waiter.settle(())
        }
      }
      return nil
    }
  }
}
