/// How much a reactor keeps in memory. Models that are observed are kept beyond it.
public struct MemoryLimit: Sendable, Hashable {
  /// Default: 1,000.
  public var models: Int
  /// Bytes of payload (the bodies that the models were made from). Default: 64 MiB.
  public var bytes: Int

  public init(models: Int = 1_000, bytes: Int = 64 << 20) {
    self.models = models
    self.bytes = bytes
  }
}
