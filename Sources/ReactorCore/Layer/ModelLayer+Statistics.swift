extension ModelLayer {
  /// Numbers of a layer, for gauges. See ``ModelLayer/statistics``.
  public struct Statistics: Sendable, Hashable {
    /// The fetches and look-ups that memory has answered, by the name of the model's type. Released
    /// reactors are not included.
    public internal(set) var memoryHitsByModel: [String: UInt64] = [:]
    /// The models in memory.
    public internal(set) var models = 0
    /// The size of their responses in bytes.
    public internal(set) var bytes = 0
    /// The models that were evicted from memory so far. Released reactors are not included.
    public internal(set) var evictions: UInt64 = 0
  }
}
