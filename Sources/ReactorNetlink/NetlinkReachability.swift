#if os(Linux) && canImport(Glibc)
  public import ReactorCore
  import Synchronization

  /// The connectivity of a machine with Linux, as the kernel reports it over rtnetlink.
  ///
  /// ```swift
  /// let layer = ModelLayer(baseURL: api, reachability: .netlink)
  /// ```
  ///
  /// The network is reachable if a link other than loopback is up and running, and has a default
  /// route or an address of more than link scope. A container without a default route is therefore
  /// reachable, for hosts on its link. So is a machine whose only running link is a bridge to its
  /// own containers. A machine with only loopback is not. Where the system does not report (no
  /// netlink, or a sandbox that forbids it), the network counts as reachable.
  ///
  /// All instances share one monitor. It starts with the first query of any instance, and ends with
  /// the last instance and the last stream of ``changes``. The first query reads the kernel's
  /// tables, without network access or waiting. Later queries read the known state.
  public final class NetlinkReachability: Reachability {
    private static let shared = SystemReachabilityMonitor.Shared(
      SystemReachabilityMonitor.netlinkSource { SystemReachabilityNetlink() })

    private let monitor = Mutex<SystemReachabilityMonitor?>(nil)

    /// Creates a reachability. The shared monitor starts with the first query.
    public init() {}

    /// A Boolean value that indicates whether the kernel has reported a way to the network.
    public var isReachable: Bool { started().isReachable }

    /// A new stream at each access: first the current value, then each change. A slow reader misses
    /// pairs of changes, never the last one.
    public var changes: AsyncStream<Bool> { started().changes }

    func started() -> SystemReachabilityMonitor {
      monitor.withLock { monitor in
        let started = monitor ?? Self.shared.monitor()
        monitor = started
        return started
      }
    }
  }

  extension Reachability where Self == NetlinkReachability {
    /// The connectivity of this machine, as the kernel reports it.
    public static var netlink: NetlinkReachability { NetlinkReachability() }
  }
#endif
