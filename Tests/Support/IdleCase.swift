/// The reason for which a layer has nothing to do.
public enum IdleCase: String, CaseIterable, Sendable {
  /// There is no connectivity.
  case offline
  /// The program has switched the network off, and that never changes.
  case never
  /// The server accepts no connection, and attempts have no wait between them.
  case refused
  /// The server never answers.
  case silent
  /// The disk is full, of the records and of the outbox.
  case fullDisk = "full-disk"
  /// Two lists of a resource that may not be stored are on screen.
  case lists
}
