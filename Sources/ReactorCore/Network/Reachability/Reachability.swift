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

extension Reachability where Self == FixedReachability {
  /// Every request is tried.
  public static var always: FixedReachability { FixedReachability(isReachable: true) }

  /// A reachability with which no request is tried, except to a loopback host. For a program's own
  /// offline switch.
  public static var never: FixedReachability { FixedReachability(isReachable: false) }
}

/// The connectivity of this machine, as the operating system reports it.
///
/// - On Apple platforms: the path of `NWPathMonitor` is satisfied, or would be with a connection
///   made on demand. Before its first report, the network counts as reachable.
/// - On Linux with glibc: a link other than loopback is up and running, and has a default route or
///   an address of more than link scope. A container without a default route is therefore
///   reachable, for hosts on its link. So is a machine whose only running link is a bridge to its
///   own containers. A machine with only loopback is not.
/// - Elsewhere, and where the system does not report (no netlink, or a sandbox that forbids it):
///   always reachable.
///
/// All instances share one monitor. It starts with the first query of any instance, and ends with
/// the last instance and the last stream of ``changes``. The first query reads the system's tables,
/// without network access or waiting. Later queries read the known state.
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
      let started = monitor ?? .shared()
      monitor = started
      return started
    }
  }
}
