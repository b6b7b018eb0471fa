#if os(Linux) && canImport(Glibc)
  import CReactorNetlink
  import Dispatch
  import Glibc
  import ReactorCore
  import Synchronization

  // For the members of `timeval`, as in HTTPCaching's FileSystem.
  #if canImport(SwiftOverlayShims)
    import SwiftOverlayShims
  #endif

  /// Two rtnetlink sockets: one receives changes, the other queries the tables. They see the
  /// network namespace of the thread that created them, for as long as they are open.
  struct SystemReachabilityNetlink: Sendable {
    let changes: Int32
    private let queries: Int32

    /// More than the 32 KiB that the kernel puts in a datagram.
    private static let bufferSize = 65_536

    /// Opens the sockets; `nil` if the system has no netlink or forbids it.
    init?() {
      guard let changes = Self.open(groups: Self.groups) else { return nil }
      guard let queries = Self.open(groups: 0) else {
        _ = Glibc.close(changes)
        return nil
      }
      self.changes = changes
      self.queries = queries
    }

    func close() {
      _ = Glibc.close(changes)
      _ = Glibc.close(queries)
    }

    /// Receives everything that has arrived, without waiting.
    ///
    /// - Returns: `true` if the tables must be read again.
    func drain() -> Bool {
      var hasChanged = false
      while true {
        let result = receive(from: changes, flags: Int32(MSG_DONTWAIT)) { message in
          let isOtherRoute =
            [Int(RTM_NEWROUTE), Int(RTM_DELROUTE)].contains(Int(message.type)) && !message.isDefaultRoute
          if !isOtherRoute { hasChanged = true }
        }
        switch result {
        case .success: continue
        // ENOBUFS: the kernel has dropped messages, so the tables must be read instead.
        case .failure(let error) where error.code == ENOBUFS: hasChanged = true
        case .failure: return hasChanged
        }
      }
    }

    /// Reads the tables; `nil` if the kernel refuses.
    ///
    /// The tables are read again each time: the kernel does not announce IPv4 routes that disappear
    /// with their link.
    func isReachable() -> Bool? {
      var tables = SystemReachabilityTables()
      // Routes come last, and only if they decide: a router has a million of them.
      for type in [RTM_GETLINK, RTM_GETADDR, RTM_GETROUTE] where !tables.isReachable {
        guard dump(type: UInt16(type), { tables.add($0) }) else { return nil }
      }
      return tables.isReachable
    }
  }

  extension SystemReachabilityNetlink {
    private struct Failure: Error { let code: Int32 }

    private static let groups =
      UInt32(RTMGRP_LINK) | UInt32(RTMGRP_IPV4_IFADDR) | UInt32(RTMGRP_IPV6_IFADDR) | UInt32(RTMGRP_IPV4_ROUTE)
      | UInt32(RTMGRP_IPV6_ROUTE)

    private static func open(groups: UInt32) -> Int32? {
      let type = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue)
      let descriptor = socket(AF_NETLINK, type, Int32(NETLINK_ROUTE))
      guard descriptor >= 0 else { return nil }
      var address = sockaddr_nl()
      address.nl_family = sa_family_t(AF_NETLINK)
      address.nl_groups = groups
      let isBound = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_nl>.size)) == 0
        }
      }
      // The kernel answers a query before `send` returns. The limit of one second is for a kernel
      // that does not.
      var limit = timeval()
      limit.tv_sec = 1
      let isLimited = setsockopt(
        descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
      guard isBound, isLimited == 0 else {
        _ = Glibc.close(descriptor)
        return nil
      }
      return descriptor
    }

    /// Requests a table and reads it to its end. Returns `false` if that fails.
    private func dump(type: UInt16, _ body: (SystemReachabilityMessage) -> Void) -> Bool {
      guard request(type: type) else { return false }
      while true {
        var end: Bool?
        let result = receive(from: queries, flags: 0) { message in
          guard message.sequence == UInt32(type) else { return }
          switch Int(message.type) {
          case Int(NLMSG_DONE): end = true
          case Int(NLMSG_ERROR): end = false
          default: body(message)
          }
        }
        if let end { return end }
        guard case .success = result else { return false }
      }
    }

    /// Sends the query for a table. The type serves as the sequence number, which distinguishes
    /// this dump from the rest of another.
    private func request(type: UInt16) -> Bool {
      var request = (nlmsghdr(), rtgenmsg(rtgen_family: UInt8(AF_UNSPEC)))
      request.0.nlmsg_len = UInt32(MemoryLayout<nlmsghdr>.size + MemoryLayout<rtgenmsg>.size)
      request.0.nlmsg_type = type
      request.0.nlmsg_flags = UInt16(NLM_F_REQUEST) | UInt16(NLM_F_ROOT) | UInt16(NLM_F_MATCH)
      request.0.nlmsg_seq = UInt32(type)
      return withUnsafeBytes(of: &request) { bytes in
        var sent = send(queries, bytes.baseAddress, bytes.count, 0)
        while sent < 0, errno == EINTR { sent = send(queries, bytes.baseAddress, bytes.count, 0) }
        return sent == bytes.count
      }
    }

    /// Receives one datagram and calls `body` with each of its messages.
    private func receive(
      from descriptor: Int32, flags: Int32, _ body: (SystemReachabilityMessage) -> Void
    ) -> Result<Void, Failure> {
      withUnsafeTemporaryAllocation(byteCount: Self.bufferSize, alignment: 8) { buffer in
        var count = recv(descriptor, buffer.baseAddress, buffer.count, flags)
        while count < 0, errno == EINTR { count = recv(descriptor, buffer.baseAddress, buffer.count, flags) }
        guard count > 0 else { return .failure(Failure(code: count < 0 ? errno : ECONNRESET)) }
        SystemReachabilityMessage.forEach(in: UnsafeRawBufferPointer(rebasing: buffer[..<count]), body)
        return .success(())
      }
    }
  }

  extension SystemReachabilityMonitor {
    /// Returns a source that reads the tables at each change of links, addresses and default
    /// routes.
    ///
    /// - Parameter open: opens the sockets. If it returns `nil`, or if the kernel refuses a query,
    ///   the network counts as reachable.
    static func netlinkSource(_ open: @escaping @Sendable () -> SystemReachabilityNetlink?) -> Source {
      { report in
        guard let netlink = open() else {
          report(true)
          return {}
        }
        report(netlink.isReachable() ?? true)
        let queue = DispatchQueue(label: "Reactor.SystemReachability")
        let source = DispatchSource.makeReadSource(fileDescriptor: netlink.changes, queue: queue)
        source.setEventHandler { if netlink.drain() { report(netlink.isReachable() ?? true) } }
        // The source holds the descriptor until then.
        source.setCancelHandler { netlink.close() }
        source.resume()
        let running = Mutex(source)
        return { running.withLock { $0.cancel() } }
      }
    }
  }
#endif
