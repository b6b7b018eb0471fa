/// Where a value came from.
public enum Origin: Sendable, Hashable {
  /// It was in memory already.
  case memory
  /// From the record on disk.
  case persistence
  /// From the server, or confirmed by it.
  case network
  /// Written by this program, not yet seen by the server.
  case local
}
