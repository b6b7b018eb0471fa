import Synchronization

/// The known state of the network, and the streams that follow it.
package final class SystemReachabilityMonitor: Sendable {
  /// Begins to report, on any thread, and returns the function that ends this. It may report before
  /// it returns.
  package typealias Source = @Sendable (_ report: @escaping @Sendable (Bool) -> Void) -> Stop
  package typealias Stop = @Sendable () -> Void

  private struct State {
    /// `true` until the first report: a request that fails costs less than a request that is never
    /// sent.
    var isReachable = true
    var nextID = 0
    var listeners: [Int: AsyncStream<Bool>.Continuation] = [:]
    var stop: Stop?
  }

  /// The one monitor of a source, which lives for as long as somebody retains it.
  package final class Shared: Sendable {
    private struct Current { weak var monitor: SystemReachabilityMonitor? }

    private let current = Mutex(Current())
    private let source: Source

    package init(_ source: @escaping Source) { self.source = source }

    /// Returns the monitor, or starts one.
    package func monitor() -> SystemReachabilityMonitor {
      current.withLock { current in
        if let monitor = current.monitor { return monitor }
        let monitor = SystemReachabilityMonitor(source: source)
        current.monitor = monitor
        return monitor
      }
    }
  }

  static let system = Shared(systemSource)

  private let state = Mutex(State())

  package init(source: Source) {
    let stop = source { [weak self] in self?.update($0) }
    state.withLock { $0.stop = stop }
  }

  deinit { state.withLock { $0.stop }?() }

  package var isReachable: Bool { state.withLock { $0.isReachable } }
  /// The number of streams of ``changes`` that are neither cancelled nor released.
  var openStreams: Int { state.withLock { $0.listeners.count } }

  package var changes: AsyncStream<Bool> {
    // Two values are enough: values alternate, so a slow reader misses pairs that cancel each other
    // out. After half of such a pair, the next value repeats the last one, and is dropped.
    let (values, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(2))
    let id = state.withLock { state in
      state.nextID += 1
      state.listeners[state.nextID] = continuation
      continuation.yield(state.isReachable)
      return state.nextID
    }
    // Retains the monitor while the stream is open.
    continuation.onTermination = { _ in self.close(id) }
    return values.withoutRepeats()
  }

  private func update(_ isReachable: Bool) {
    state.withLock { state in
      guard state.isReachable != isReachable else { return }
      state.isReachable = isReachable
      // Under the lock, so that every stream gets the changes in order. Yielding runs no user code.
      for listener in state.listeners.values { listener.yield(isReachable) }
    }
  }

  private func close(_ id: Int) { state.withLock { _ = $0.listeners.removeValue(forKey: id) } }
}

extension AsyncStream<Bool> {
  /// Returns the stream without elements that equal the previous one, for one reader.
  func withoutRepeats() -> AsyncStream<Bool> {
    let last = Mutex<Bool?>(nil)
    return AsyncStream {
      var iterator = self.makeAsyncIterator()
      while let value = await iterator.next(isolation: nil) {
        let isNew = last.withLock { last in
          defer { last = value }
          return last != value
        }
        if isNew { return value }
      }
      return nil
    }
  }
}

#if canImport(Network)
  import Dispatch
  import Network

  extension SystemReachabilityMonitor {
    static let systemSource: Source = { report in
      let monitor = NWPathMonitor()
      monitor.pathUpdateHandler = { path in report(path.status != .unsatisfied) }
      monitor.start(queue: DispatchQueue(label: "Reactor.SystemReachability"))
      return { monitor.cancel() }
    }
  }
#else
  extension SystemReachabilityMonitor {
    static let systemSource: Source = { report in
      report(true)
      return {}
    }
  }
#endif
