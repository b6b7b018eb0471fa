/// The source of a value.
public enum Origin: Sendable, Hashable {
  /// Memory: the value was there already.
  case memory
  /// Persistence: the record on disk.
  case persistence
  /// The network: the server sent the value, or confirmed it with a 304.
  case network
  /// A local write, which the server has not seen yet.
  case local
}
