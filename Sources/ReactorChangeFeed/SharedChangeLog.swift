/// A list of changes that the feeds of several servers share, such as a stream in Valkey.
///
/// Every feed appends to it, and every feed reads it in the same order. A position means the same
/// on each server, so a client that reconnects to another server continues where it was.
///
/// ```swift
/// let feed = ChangeFeed(log: try ValkeyChangeLog(address, namespace: "shop"))
/// await feed.run()
/// ```
///
/// Its methods are called from any isolation. The feed retries them after an error.
public protocol SharedChangeLog: Sendable {
  /// Appends an entry, and returns once every feed can read it.
  ///
  /// After an error, the same entry may be appended again.
  func append(_ entry: [UInt8]) async throws

  /// Returns the entries behind a number in their order, as many as the log likes to return at
  /// once; an empty array if there is no later one.
  ///
  /// Numbers of one history are consecutive. If the entries behind `number` are not kept any more,
  /// or if the history was lost, the answer begins at the oldest entry of the present history. A
  /// new history has another name, and begins at a number that is greater by two than any earlier
  /// number, or by more.
  ///
  /// - Parameter number: The number of the last entry that was read; `nil` before the first.
  func entries(behind number: UInt64?) async throws -> [SharedChangeEntry]

  /// Calls `body` soon after entries were appended by anyone, and once at the beginning, until the
  /// connection is lost or the task is cancelled. A feed also reads without a call, every quarter
  /// of ``ChangeFeedConfiguration/heartbeat``.
  func listen(_ body: @escaping @Sendable () -> Void) async throws
}

/// An entry of a ``SharedChangeLog``.
public struct SharedChangeEntry: Sendable, Hashable {
  /// The name of the history, without a point.
  public var history: String
  /// The number in the history.
  public var number: UInt64
  /// The appended bytes; empty for an entry that says nothing.
  public var bytes: [UInt8]

  /// Creates an entry.
  public init(history: String, number: UInt64, bytes: [UInt8]) {
    (self.history, self.number, self.bytes) = (history, number, bytes)
  }
}
