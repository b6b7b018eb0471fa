/// What a flow's network step is given beside the resource.
public struct FetchContext<Model: Sendable>: Sendable {
  /// The copy that there is, if any: the step may ask the server whether it is still good, and return it with a new
  /// ``Snapshot/fetchedAt`` if so.
  public var stale: Snapshot<Model>?
  /// To be told how far the transfer has come; streams show it.
  public var progress: @Sendable (TransferProgress) -> Void
  /// Whether persistence was asked in this flight; then ``stale`` is what it had, and it need not be asked again.
  var hasAskedPersistence = false
  /// To be told of each request that is about to be sent.
  var sends: @Sendable () -> Void = {}
  /// Where every attempt leaves its hops; `nil`: nobody asks.
  var trail: RedirectTrail?

  public init(
    stale: Snapshot<Model>? = nil, progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
  ) {
    self.stale = stale
    self.progress = progress
  }
}
