import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The system's limit of open files and sockets for this process.
enum OpenFiles {
  /// Raises the limit for `clients` clients, each with a connection to the server behind the proxy.
  ///
  /// - Returns: The number of clients that the limit allows, at most `clients`.
  static func makeRoom(forClients clients: Int) -> Int {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return clients }
    let (perClient, reserve) = (rlim_t(2), rlim_t(64))
    let wanted = min(rlim_t(clients) * perClient + reserve, limit.rlim_max)
    if limit.rlim_cur < wanted {
      var raised = limit
      raised.rlim_cur = wanted
      if setrlimit(resource, &raised) == 0 { limit = raised }
    }
    guard limit.rlim_cur > reserve + perClient else { return 1 }
    return Int(min(rlim_t(clients), (limit.rlim_cur - reserve) / perClient))
  }

  #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  #else
    private static let resource = RLIMIT_NOFILE
  #endif
}
