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

  /// The part that a save has in a fetch.
  public enum Saving: Sendable, Hashable, CaseIterable {
    /// A fetch returns its value before its record is saved. An event reports a failed save.
    case inBackground
    /// A fetch waits until its record is saved, and succeeds if that fails. An event reports the
    /// failure.
    case awaited
    /// A fetch waits until its record is saved, and fails with ``ReactorError/persistence(_:)`` if
    /// that fails.
    case required
  }

  /// The rule for polling while the system saves power.
  public struct LowPower: Sendable {
    /// The source that says whether power is to be saved. It is observed only while a stream polls.
    /// Default: the system.
    public var source: any PowerSaving
    /// The factor by which polling intervals grow while power is saved. Default: 4. Clamped to 1
    /// through 1,000.
    public var pollingFactor: Int

    /// Creates a rule.
    public init(source: any PowerSaving = SystemPowerSaving(), pollingFactor: Int = 4) {
      self.source = source
      self.pollingFactor = pollingFactor
    }
  }
}
