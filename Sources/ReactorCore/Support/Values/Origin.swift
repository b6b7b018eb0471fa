/// The source of a value.
public enum Origin: Sendable, Hashable {
  /// Memory: the value was there already.
  case memory
  /// Persistence: the record on disk.
  case persistence
  /// The network: the server sent the value, or confirmed it with a 304.
  case network
  /// Another process, which has fetched the response and shared it through a fleet. No request was
  /// sent.
  case fleet
  /// A local write, which the server has not seen yet.
  case local
}
