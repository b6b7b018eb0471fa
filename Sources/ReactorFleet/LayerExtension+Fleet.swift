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
  /// that is fresh, or else by the origin, which one server asks for all. A change or an
  /// invalidation through one server makes the value stale in the memory of each. A fetch with
  /// `FetchPolicy.networkOnly` or `.networkFirst` always asks the origin. What `save(_:for:)`
  /// writes stays in its process, and so does what came over a redirect.
  ///
  /// If no messages arrive for longer than ``FleetConfiguration/trustWhileBlind``, copies are
  /// validated with the origin before their next use, and so are the records of an earlier process.
  /// Before `Fleet.run()` and after it, the layer behaves as without a fleet.
  ///
  /// Records of another scope than `Scope.shared` leave the process only with
  /// ``FleetConfiguration/Sharing/everyScope``.
  ///
  /// - Parameter fleet: The fleet. All servers are taken to use the same credential in the
  ///   middlewares of their backends. If a resource has its own credential or a secret in its URL,
  ///   nothing of the request leaves the process.
  public static func fleet(_ fleet: Fleet) -> LayerExtension {
    LayerExtension(upstream: { FleetUpstream(fleet, $0, $1) })
  }
}
