#if os(Linux) && canImport(Glibc)
  import CReactorNetlink
  import Glibc

  /// The content of the kernel's network tables, collected from its messages.
  struct SystemReachabilityTables {
    /// The links that are up and running, except loopback.
    private(set) var links: Set<UInt32> = []
    /// The links with an address that other hosts can answer to.
    private(set) var addressed: Set<UInt32> = []
    /// The links of default routes; `nil` stands for a route over several links.
    private(set) var defaultRoutes: Set<UInt32?> = []

    var isReachable: Bool {
      !links.isDisjoint(with: addressed)
        || defaultRoutes.contains { link in link.map(links.contains) ?? !links.isEmpty }
    }

    /// Adds a link, an address or a route. Other messages are ignored.
    mutating func add(_ message: SystemReachabilityMessage) {
      switch Int(message.type) {
      case Int(RTM_NEWLINK): addLink(message)
      case Int(RTM_NEWADDR): addAddress(message)
      case Int(RTM_NEWROUTE): addRoute(message)
      default: break
      }
    }

    private mutating func addLink(_ message: SystemReachabilityMessage) {
      guard let link = message.header(ifinfomsg.self), let index = UInt32(exactly: link.ifi_index) else { return }
      let running = UInt32(IFF_UP) | UInt32(IFF_RUNNING)
      guard link.ifi_flags & (running | UInt32(IFF_LOOPBACK)) == running else { return }
      links.insert(index)
    }

    private mutating func addAddress(_ message: SystemReachabilityMessage) {
      guard let address = message.header(ifaddrmsg.self), UInt32(address.ifa_scope) < RT_SCOPE_LINK.rawValue else {
        return
      }
      // An address must not be used before it is known to be unique (RFC 4862 §5.4).
      guard Int(address.ifa_flags) & (Int(IFA_F_TENTATIVE) | Int(IFA_F_DADFAILED)) == 0 else { return }
      addressed.insert(address.ifa_index)
    }

    private mutating func addRoute(_ message: SystemReachabilityMessage) {
      guard message.isDefaultRoute, let route = message.header(rtmsg.self), Int(route.rtm_type) == Int(RTN_UNICAST),
        route.rtm_flags & (UInt32(RTNH_F_DEAD) | UInt32(RTNH_F_LINKDOWN)) == 0
      else { return }
      defaultRoutes.insert(message.attribute(Int(RTA_OIF.rawValue), of: rtmsg.self))
    }
  }

  /// One message of rtnetlink. The buffer that it was received in must outlive it.
  struct SystemReachabilityMessage {
    private static let headerSize = aligned(MemoryLayout<nlmsghdr>.size)

    let type: UInt16
    let flags: UInt16
    let sequence: UInt32
    private let body: UnsafeRawBufferPointer

    /// Calls `body` with each whole message in `bytes`. A message that is cut off is ignored.
    static func forEach(in bytes: UnsafeRawBufferPointer, _ body: (SystemReachabilityMessage) -> Void) {
      var rest = bytes[...]
      while rest.count >= headerSize {
        let header = UnsafeRawBufferPointer(rebasing: rest).loadUnaligned(as: nlmsghdr.self)
        let length = Int(header.nlmsg_len)
        guard length >= headerSize, length <= rest.count else { return }
        let content = UnsafeRawBufferPointer(rebasing: rest.prefix(length).dropFirst(headerSize))
        body(
          SystemReachabilityMessage(
            type: header.nlmsg_type, flags: header.nlmsg_flags, sequence: header.nlmsg_seq, body: content))
        rest = rest.dropFirst(aligned(length))
      }
    }

    /// Returns the header at the start of the body; `nil` if the body is shorter.
    func header<Header: BitwiseCopyable>(_: Header.Type) -> Header? {
      body.count >= MemoryLayout<Header>.size ? body.loadUnaligned(as: Header.self) : nil
    }

    /// A Boolean value that indicates whether the message announces or withdraws a default route.
    var isDefaultRoute: Bool {
      guard [Int(RTM_NEWROUTE), Int(RTM_DELROUTE)].contains(Int(type)) else { return false }
      return header(rtmsg.self)?.rtm_dst_len == 0
    }

    /// Returns the 32-bit value of an attribute behind `header`; `nil` if the message has no such
    /// attribute.
    func attribute<Header>(_ type: Int, of header: Header.Type) -> UInt32? {
      let size = MemoryLayout<rtattr>.size
      var rest = body.dropFirst(Self.aligned(MemoryLayout<Header>.size))
      while rest.count >= size {
        let bytes = UnsafeRawBufferPointer(rebasing: rest)
        let attribute = bytes.loadUnaligned(as: rtattr.self)
        let length = Int(attribute.rta_len)
        guard length >= size, length <= rest.count else { return nil }
        if Int(attribute.rta_type) == type, length >= size + MemoryLayout<UInt32>.size {
          return bytes.loadUnaligned(fromByteOffset: size, as: UInt32.self)
        }
        rest = rest.dropFirst(Self.aligned(length))
      }
      return nil
    }

    /// Returns the next multiple of four, where messages, their headers and attributes begin
    /// (`NLMSG_ALIGNTO`, `RTA_ALIGNTO`).
    private static func aligned(_ count: Int) -> Int { (count + 3) & ~3 }
  }
#endif
