#if canImport(Network)
  import Dispatch
  import Network

  extension SystemReachabilityMonitor {
    static let systemSource: Source = { report in
      let monitor = NWPathMonitor()
      monitor.pathUpdateHandler = { path in report(path.status != .unsatisfied) }
      monitor.start(queue: DispatchQueue(label: "Reactor.SystemReachability"))
      return { monitor.cancel() }
    }
  }
#elseif os(Linux) && canImport(Glibc)
  extension SystemReachabilityMonitor {
    static let systemSource: Source = netlinkSource { SystemReachabilityNetlink() }
  }
#else
  extension SystemReachabilityMonitor {
    static let systemSource: Source = { report in
      report(true)
      return {}
    }
  }
#endif
