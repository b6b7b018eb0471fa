public import Foundation
public import ReactorCore

extension ModelLayer {
  /// Creates a layer over a base URL, whose responses the servers of a fleet share.
  ///
  /// ```swift
  /// let fleet = Fleet(store)
  /// let layer = ModelLayer(baseURL: api, transport: AsyncHTTPClientTransport(), fleet: fleet)
  /// ```
  ///
  /// See ``init(backend:persistence:scope:configuration:fleet:)``.
  public convenience init(
    baseURL: URL, transport: any Transport = URLSessionTransport(), persistence: (any Persistence)? = nil,
    reachability: any Reachability = SystemReachability(), scope: Scope = .shared,
    configuration: ReactorConfiguration = .init(), fleet: Fleet
  ) {
    self.init(
      backend: Backend(baseURL: baseURL, transport: transport, reachability: reachability), persistence: persistence,
      scope: scope, configuration: configuration, fleet: fleet)
  }

  /// Creates a layer over a backend, whose responses the servers of a fleet share.
  ///
  /// A request that memory and disk cannot answer is answered by the response of another server, if
  /// that is fresh, or else by the origin, which one server asks for all. What one of them changes
  /// or invalidates is stale in the memory of each. A fetch with `FetchPolicy.networkOnly` or
  /// `.networkFirst` always asks the origin. What `save(_:for:)` writes stays in its process, and
  /// so does what came over a redirect.
  ///
  /// While nobody is heard for longer than ``FleetConfiguration/trustWhileBlind``, copies are
  /// validated with the origin before their next use, and so is what the disk has from an earlier
  /// process. Before `Fleet.run()` and after it, the layer is as it is without a fleet.
  ///
  /// - Parameters:
  ///   - persistence: The durable store of records. `nil`, the default, stores models in memory
  ///     only.
  ///   - scope: The owner of the records. Default: `Scope.shared`. Those of another scope leave the
  ///     process only with ``FleetConfiguration/Sharing/everyScope``.
  ///   - fleet: The fleet. The credential that a middleware of the backend adds counts as that of
  ///     all servers. Nothing leaves the process of a request whose resource has one of its own, or
  ///     a secret in its URL.
  public convenience init(
    backend: Backend, persistence: (any Persistence)? = nil, scope: Scope = .shared,
    configuration: ReactorConfiguration = .init(), fleet: Fleet
  ) {
    self.init(backend: backend, persistence: persistence, scope: scope, configuration: configuration, tier: fleet)
  }
}
