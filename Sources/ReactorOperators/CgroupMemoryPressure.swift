#if os(Linux)
  import Dispatch
  import Foundation
  public import ReactorCore
  import Synchronization

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// The memory pressure of a control group of Linux (cgroup v2), such as a container's.
  ///
  /// ```swift
  /// configuration.memoryPressure = CgroupMemoryPressure()
  /// ```
  ///
  /// A warning is a growth of the counters `high`, `max`, `oom` or `oom_kill` in the group's
  /// `memory.events`: the group has reached `memory.high` or `memory.max`. The kernel reports the
  /// change of the file (inotify), so nothing polls and no thread waits. No privilege is needed.
  public struct CgroupMemoryPressure: ReactorConfiguration.MemoryPressure {
    private let file: String?

    /// Creates the source of a group. Nothing is observed until ``warnings`` is read.
    ///
    /// - Parameter directory: The directory of the group, which has the file `memory.events`.
    ///   `nil`, the default, is the group of this process. If it has no such file, as without
    ///   cgroup v2, there are no warnings.
    public init(directory: String? = nil) {
      file = (directory ?? Self.ownDirectory()).map { $0 + "/memory.events" }
    }

    /// A new stream of the warnings, which buffers one element. It ends at once if the file cannot
    /// be watched.
    public var warnings: AsyncStream<Void> { watch {} }

    /// - Parameter ended: A closure that is called when the watch has ended.
    func watch(_ ended: @escaping @Sendable () -> Void) -> AsyncStream<Void> {
      let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
      guard let file, let watch = FileWatch(file) else {
        continuation.finish()
        ended()
        return stream
      }
      // Read after the watch has started, so that no change is missed.
      let latest = Mutex(Self.count(file))
      watch.begin(
        changed: {
          let count = Self.count(file)
          let hasGrown = latest.withLock { latest in
            defer { latest = max(latest, count) }
            return count > latest
          }
          if hasGrown { continuation.yield() }
        }, ended: ended)
      continuation.onTermination = { _ in watch.cancel() }
      return stream
    }

    /// Returns the number of times that the group has reached a limit.
    private static func count(_ file: String) -> UInt64 {
      guard let text = try? String(contentsOf: URL(filePath: file), encoding: .utf8) else { return 0 }
      return count(in: text)
    }

    static func count(in events: String) -> UInt64 {
      events.split(separator: "\n").reduce(0) { sum, line in
        let parts = line.split(separator: " ")
        guard parts.count == 2, ["high", "max", "oom", "oom_kill"].contains(parts[0]) else { return sum }
        return sum &+ (UInt64(parts[1]) ?? 0)
      }
    }

    private static func ownDirectory() -> String? {
      (try? String(contentsOf: URL(filePath: "/proc/self/cgroup"), encoding: .utf8)).flatMap(directory(in:))
    }

    /// Returns the directory of the group that `/proc/self/cgroup` names; `nil` without cgroup v2.
    static func directory(in groups: String) -> String? {
      let line = groups.split(separator: "\n").first { $0.hasPrefix("0::/") }
      return line.map { "/sys/fs/cgroup" + ($0 == "0::/" ? "" : $0.dropFirst(3)) }
    }
  }

  /// A watch on the changes of a file, by inotify.
  private final class FileWatch: Sendable {
    private let source: Mutex<any DispatchSourceRead>
    private let descriptor: Int32

    /// Creates a watch; `nil` if the system refuses.
    init?(_ file: String) {
      let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
      guard descriptor >= 0 else { return nil }
      guard inotify_add_watch(descriptor, file, UInt32(IN_MODIFY)) >= 0 else {
        close(descriptor)
        return nil
      }
      self.descriptor = descriptor
      source = Mutex(DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global(qos: .utility)))
    }

    func begin(changed: @escaping @Sendable () -> Void, ended: @escaping @Sendable () -> Void) {
      source.withLock { [descriptor] source in
        source.setEventHandler {
          Self.discardEvents(descriptor)
          changed()
        }
        // The descriptor must stay open until the source has ended.
        source.setCancelHandler {
          close(descriptor)
          ended()
        }
        source.activate()
      }
    }

    func cancel() { source.withLock { $0.cancel() } }

    /// Reads the events, so that the descriptor is not readable until the next change.
    private static func discardEvents(_ descriptor: Int32) {
      withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
        while read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
      }
    }
  }
#endif
