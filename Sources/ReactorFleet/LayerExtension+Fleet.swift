public import ReactorCore

extension ModelLayer.Extension {
  /// The extension that lets the servers of a fleet share a layer's responses.
  ///
  /// ```swift
  /// let fleet = Fleet(store)
  /// let layer = ModelLayer(
  ///   baseURL: api, transport: AsyncHTTPClientTransport(), extensions: [.fleet(fleet)])
  /// ```
  ///
  /// If neither memory nor disk can answer a request, another server's fresh response does, or else
  /// the origin, which one server contacts for all. A change or an invalidation through one server
  /// makes the value stale in the memory of each. A fetch with `FetchPolicy.networkOnly` or
  /// `.networkFirst` always contacts the origin. Values of `save(_:for:)` and redirected responses
  /// stay in the process.
  ///
  /// If no messages arrive for longer than ``FleetConfiguration/trustWhileBlind``, copies are
  /// validated with the origin before their next use, and so are the records of an earlier process.
  /// Before `Fleet.run()` and after it, the layer behaves as without a fleet.
  ///
  /// Records of another scope than `Scope.shared` leave the process only with
  /// ``FleetConfiguration/Sharing/everyScope``.
  ///
  /// - Parameter fleet: The fleet. It assumes that the middlewares of all servers use the same
  ///   credential. If a resource has its own credential or a secret in its URL, nothing of the
  ///   request leaves the process.
  public static func fleet(_ fleet: Fleet) -> ModelLayer.Extension {
    ModelLayer.Extension(upstream: { FleetUpstream(fleet, $0, $1) })
  }
}
