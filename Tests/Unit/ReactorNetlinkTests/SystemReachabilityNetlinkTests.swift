#if os(Linux) && canImport(Glibc)
  import ReactorConformance
  import ReactorCore
  import Testing

  @testable import ReactorNetlink

  @Suite(.timeLimit(.minutes(5))) struct `Reachability without netlink` {
    @Test func `without netlink, reachability is always true`() async {
      let monitor = SystemReachabilityMonitor(source: SystemReachabilityMonitor.netlinkSource { nil })
      var changes = monitor.changes.makeAsyncIterator()
      #expect(monitor.isReachable)
      #expect(await changes.next() == true)
    }

    @Test func `netlink's reachability is one for all of the process`() {
      let (first, second) = (NetlinkReachability(), NetlinkReachability())
      #expect(first.started() === second.started())
    }

    @Test func `netlink's reachability passes the suite of every reachability, where nothing changes`() async {
      await ReachabilityConformance(.netlink).run()
    }

    @Test(arguments: 0..<500) func `garbage is passed over`(seed: UInt64) {
      var bytes = (0..<256).map {
        UInt8(truncatingIfNeeded: (seed &+ 1) &* (UInt64($0) &+ 3) &* 0x9E37_79B9_7F4A_7C15 >> 56)
      }
      // Lengths and types that take the parser further in.
      bytes.replaceSubrange(0..<6, with: [UInt8(seed % 256), 0, 0, 0, UInt8(16 + seed % 12), 0])
      var tables = SystemReachabilityTables()
      bytes.withUnsafeBytes { SystemReachabilityMessage.forEach(in: $0) { tables.add($0) } }
      #expect(tables.links.count <= 256 / 16)
    }
  }
#endif
