import Synchronization

/// A source of connectivity.
///
/// Reachability is a hint that saves a request which cannot succeed. It never promises that a
/// server answers.
public protocol Reachability: Sendable {
  /// A Boolean value that indicates whether there is a way to the network now. Must return at once.
  var isReachable: Bool { get }

  /// A new stream at each access: first the current value, then each change.
  ///
  /// A stream that ends announces that the value will not change again. A stream of states that
  /// waits for connectivity then continues with the next fetch or refresh of its resource, and the
  /// outbox with the next submission or drain.
  var changes: AsyncStream<Bool> { get }
}

extension Backend {
  /// A reachability that never changes: ``Reachability/always`` or ``Reachability/never``.
  ///
  /// ```swift
  /// let backend = Backend(baseURL: api, reachability: .always)
  /// ```
  public struct FixedReachability: Reachability {
    /// The value that never changes.
    public let isReachable: Bool

    /// A stream of that one value, which then ends.
    public var changes: AsyncStream<Bool> {
      AsyncStream { continuation in
        continuation.yield(isReachable)
        continuation.finish()
      }
    }
  }
}

extension Reachability where Self == Backend.SystemReachability {
  /// The connectivity of this machine, as the operating system reports it.
  public static var system: Backend.SystemReachability { Backend.SystemReachability() }
}

extension Reachability where Self == Backend.FixedReachability {
  /// Every request is tried.
  public static var always: Backend.FixedReachability { Backend.FixedReachability(isReachable: true) }

  /// A reachability with which no request is tried, except to a loopback host. For a program's own
  /// offline switch.
  public static var never: Backend.FixedReachability { Backend.FixedReachability(isReachable: false) }
}

extension Backend {
  /// The connectivity of this machine, as the operating system reports it.
  ///
  /// - On Apple platforms: the path of `NWPathMonitor` is satisfied, or would be with a connection
  ///   made on demand. Before its first report, the network counts as reachable.
  /// - Elsewhere: always reachable. For a program on Linux that moves between networks, the product
  ///   ReactorNetlink has `.netlink`, which asks the kernel.
  ///
  /// All instances share one monitor. It starts with the first query of any instance, and ends with
  /// the last instance and the last stream of ``changes``.
  public final class SystemReachability: Reachability {
    private let monitor = Mutex<SystemReachabilityMonitor?>(nil)

    /// Creates a reachability. The shared monitor starts with the first query.
    public init() {}

    /// A Boolean value that indicates whether the system has reported a way to the network.
    public var isReachable: Bool { started().isReachable }

    /// A new stream at each access: first the current value, then each change. A slow reader misses
    /// pairs of changes, never the last one.
    public var changes: AsyncStream<Bool> { started().changes }

    func started() -> SystemReachabilityMonitor {
      monitor.withLock { monitor in
        let started = monitor ?? SystemReachabilityMonitor.system.monitor()
        monitor = started
        return started
      }
    }
  }
}
