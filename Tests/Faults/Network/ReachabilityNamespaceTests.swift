#if os(Linux) && canImport(Glibc)
  import Glibc
  import ReactorCore
  import TestSupport
  import Testing

  @testable import ReactorNetlink

  @Suite(
    .timeLimit(.minutes(5)), .enabled(if: NetworkNamespace.isAvailable, Comment(rawValue: NetworkNamespace.requirement))
  )
  struct `Reachability in a network namespace` {
    let network: NetworkNamespace

    init() throws { network = try NetworkNamespace() }

    func monitor() throws -> SystemReachabilityMonitor {
      let sockets = try #require(network.sockets())
      return SystemReachabilityMonitor(source: SystemReachabilityMonitor.netlinkSource { sockets })
    }

    func isReachable() throws -> Bool? {
      let sockets = try #require(network.sockets())
      defer { sockets.close() }
      return sockets.isReachable()
    }

    @Test func `a machine with only loopback is not reachable`() throws {
      #expect(try isReachable() == false)
    }

    @Test func `a link without an address is not reachable`() throws {
      try network.ip("link set v0 up")
      #expect(try isReachable() == false)
    }

    @Test(arguments: [
      ("link set v0 down", "link set v0 up"), ("link set v1 down", "link set v1 up"),
      ("address del 192.0.2.2/24 dev v0", "address add 192.0.2.2/24 dev v0"),
    ])
    func `reachability follows a link with an address down and up`(down: String, up: String) async throws {
      try network.ip("address add 192.0.2.2/24 dev v0")
      try network.ip("link set v0 up")
      let monitor = try monitor()
      var changes = monitor.changes.makeAsyncIterator()
      #expect(await changes.first { $0 } == true)
      try network.ip(down)
      #expect(await changes.next() == false)
      #expect(!monitor.isReachable)
      try network.ip(up)
      #expect(await changes.next() == true)
      #expect(monitor.isReachable)
    }

    @Test func `reachability follows an IPv6 address`() async throws {
      try network.ip("link set v0 up")
      var changes = try monitor().changes.makeAsyncIterator()
      #expect(await changes.next() == false)
      try network.ip("address add 2001:db8::2/64 dev v0 nodad")
      #expect(await changes.next() == true)
      try network.ip("address del 2001:db8::2/64 dev v0")
      #expect(await changes.next() == false)
    }

    @Test func `reachability follows a default route of a link without an address`() async throws {
      try network.ip("link set v0 up")
      var changes = try monitor().changes.makeAsyncIterator()
      #expect(await changes.next() == false)
      try network.ip("route add default dev v0")
      #expect(await changes.next() == true)
      // The kernel announces only the link, not the route that goes with it.
      try network.ip("link set v0 down")
      #expect(await changes.next() == false)
    }

    @Test(arguments: ["unreachable default", "default dev lo", "198.51.100.0/24 dev v0"])
    func `a route that leads nowhere, or not everywhere, is not enough`(route: String) throws {
      try network.ip("link set v0 up")
      try network.ip("route add \(route)")
      #expect(try isReachable() == false)
    }

    @Test func `reachability ignores a route that is not a default route`() throws {
      // A link that comes up is announced late; loopback's routes announce nothing else.
      try network.ip("link del v0")
      let sockets = try #require(network.sockets())
      defer { sockets.close() }
      _ = sockets.drain()
      try network.ip("route add 198.51.100.0/24 dev lo")
      #expect(!sockets.drain())
      try network.ip("route add default dev lo")
      #expect(sockets.drain())
    }

    @Test func `reachability reads the tables again after dropped messages`() throws {
      try network.ip("link del v0")
      let sockets = try #require(network.sockets())
      defer { sockets.close() }
      var size: Int32 = 0
      setsockopt(sockets.changes, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
      _ = sockets.drain()
      // Routes that are passed over fill the buffer, so only their loss can ask for a reading.
      for number in 0..<20 { try network.ip("route add 198.51.\(number).0/24 dev lo") }
      #expect(sockets.drain())
      #expect(!sockets.drain())
    }
  }
#endif
