extension ReactorConfiguration {
  /// The limit of a reactor's memory. Models that are observed or being fetched stay beyond it.
  public struct MemoryLimit: Sendable, Hashable {
    /// The largest number of models. Default: 1,000.
    public var models: Int
    /// The largest payload: the size in bytes of the bodies that the models were parsed from.
    /// Default: 64 MiB.
    public var bytes: Int

    /// Creates a limit. When either part is exceeded, the least recently used models are evicted.
    ///
    /// ```swift
    /// configuration.memoryLimit = .init(models: 100, bytes: 4 << 20)
    /// ```
    public init(models: Int = 1_000, bytes: Int = 64 << 20) {
      self.models = models
      self.bytes = bytes
    }
  }
}
