#if os(Linux) && canImport(Glibc)
  import Foundation
  import Glibc
  import Synchronization

  @testable import ReactorNetlink

  /// A separate network, with a link `v0` whose other end is `v1`. Releasing the value removes it.
  final class NetworkNamespace: Sendable {
    struct Failure: Error { let command: String, status: Int32 }

    let name = "reactor-\(getpid())-\(UInt32.random(in: 0 ... .max))"

    /// True if this process may make a namespace, and the kernel has pairs of links.
    static let isAvailable = geteuid() == 0 && (try? NetworkNamespace()) != nil
    static let requirement = "needs root, the command ip (apt-get install iproute2) and links of type veth"

    init() throws {
      try Self.run("ip netns add \(name)")
      try ip("link set lo up")
      try ip("link add v0 type veth peer name v1")
      try ip("link set v1 up")
    }

    deinit { try? Self.run("ip netns del \(name)") }

    func ip(_ arguments: String) throws { try Self.run("ip -n \(name) \(arguments)") }

    /// The sockets see the namespace in which their thread makes them.
    func sockets() -> SystemReachabilityNetlink? {
      let made = Mutex<SystemReachabilityNetlink?>(nil)
      let done = DispatchSemaphore(value: 0)
      Thread { [name] in
        let namespace = open("/var/run/netns/\(name)", O_RDONLY | O_CLOEXEC)
        if namespace >= 0, Self.setns(namespace, 0) == 0 { made.withLock { $0 = SystemReachabilityNetlink() } }
        close(namespace)
        done.signal()
      }.start()
      done.wait()
      return made.withLock { $0 }
    }

    /// Glibc declares it only for _GNU_SOURCE, so Swift does not see it.
    private static func setns(_ descriptor: Int32, _ type: Int32) -> Int32 {
      guard let symbol = dlsym(nil, "setns") else { return -1 }
      let function = unsafeBitCast(symbol, to: (@convention(c) (Int32, Int32) -> Int32).self)
      return function(descriptor, type)
    }

    private static func run(_ command: String) throws {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = command.split(separator: " ").map(String.init)
      process.standardError = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      guard process.terminationStatus == 0 else {
        throw Failure(command: command, status: process.terminationStatus)
      }
    }
  }
#endif
