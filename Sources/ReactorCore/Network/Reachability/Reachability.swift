import Synchronization

/// Whether there is a way to the network at all.
///
/// It is a hint that saves a request which cannot succeed; it never promises that a server answers.
public protocol Reachability: Sendable {
  /// What is known now. Must return at once.
  var isReachable: Bool { get }

  /// A new stream at each access: first the current value, then each change.
  var changes: AsyncStream<Bool> { get }
}

/// Reachability that never changes: ``Reachability/always`` and ``Reachability/never``.
public struct FixedReachability: Reachability {
  public let isReachable: Bool

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

  /// Nothing is reachable: a program's own switch to offline.
  public static var never: FixedReachability { FixedReachability(isReachable: false) }
}

/// Whether this machine has a way to a network, as the operating system tells.
///
/// - On Apple platforms: `NWPathMonitor`'s path is satisfied, or would be with a connection made on demand. Until its
///   first report, reachable.
/// - On Linux with glibc: a link that is not the loopback one is up and running, and has an address of more than its
///   own link's scope or a default route. So a container without a default route is reachable, for what is on its
///   link; so is a machine whose only running link is a bridge to its own containers; loopback alone is not.
/// - Elsewhere, and where the system does not tell (no netlink, or a sandbox that forbids it): always reachable.
///
/// All instances share one monitor. It starts when one of them is first asked, and ends with the last instance and the
/// last stream of ``changes``. The first question reads the system's tables, which takes no network and no waiting;
/// later ones read what is known.
public final class SystemReachability: Reachability {
  private let monitor = Mutex<SystemReachabilityMonitor?>(nil)

  public init() {}

  public var isReachable: Bool { started().isReachable }

  /// A reader that falls behind misses pairs of changes, never the last one.
  public var changes: AsyncStream<Bool> { started().changes }

  func started() -> SystemReachabilityMonitor {
    monitor.withLock { monitor in
      let started = monitor ?? .shared()
      monitor = started
      return started
    }
  }
}
