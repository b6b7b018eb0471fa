public import ReactorCore

extension LayerExtension {
  /// The extension that lets the servers of a fleet share a layer's responses.
  ///
  /// ```swift
  /// let fleet = Fleet(store)
  /// let layer = ModelLayer(
  ///   baseURL: api, transport: AsyncHTTPClientTransport(), extensions: [.fleet(fleet)])
  /// ```
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
  /// Records of another scope than `Scope.shared` leave the process only with
  /// ``FleetConfiguration/Sharing/everyScope``.
  ///
  /// - Parameter fleet: The fleet. The credential that a middleware of the backend adds counts as
  ///   that of all servers. Nothing leaves the process of a request whose resource has one of its
  ///   own, or a secret in its URL.
  public static func fleet(_ fleet: Fleet) -> LayerExtension {
    LayerExtension(upstream: { FleetUpstream(fleet, $0, $1) })
  }
}
