/// A list of changes that the feeds of several servers share, such as a stream in Valkey.
///
/// Every feed appends to it, and every feed reads it in the same order, so that a position means the
/// same on each server: a client that reconnects to another one continues where it was.
///
/// ```swift
/// let feed = ChangeFeed(log: try ValkeyChangeLog(address, namespace: "shop"))
/// await feed.run()
/// ```
///
/// Its methods are called from any isolation. What they throw is retried.
public protocol SharedChangeLog: Sendable {
  /// Appends an entry, and returns once every feed can read it.
  ///
  /// After an error, the same entry may be appended again.
  func append(_ entry: [UInt8]) async throws

  /// Returns the entries behind a number in their order, as many as the log likes to return at once;
  /// none if there is no later one.
  ///
  /// Numbers of one history are consecutive. If the entries behind `number` are not kept any more,
  /// or if the history was lost, the answer begins at the oldest entry of the present history. A new
  /// history has another name, and begins at a number that is greater by two than any earlier one,
  /// or by more.
  ///
  /// - Parameter number: The number of the last entry that was read; `nil` before the first.
  func entries(behind number: UInt64?) async throws -> [SharedChangeEntry]

  /// Calls `body` soon after entries were appended by anyone, and once at the beginning, until the
  /// connection is lost or the task is cancelled. A feed also reads without a call, every quarter of
  /// ``ChangeFeedConfiguration/heartbeat``.
  func listen(_ body: @escaping @Sendable () -> Void) async throws
}

/// An entry of a ``SharedChangeLog``.
public struct SharedChangeEntry: Sendable, Hashable {
  /// The name of the history, without a point.
  public var history: String
  /// The number in the history.
  public var number: UInt64
  /// What was appended; empty for an entry that says nothing.
  public var bytes: [UInt8]

  /// Creates an entry.
  public init(history: String, number: UInt64, bytes: [UInt8]) {
    (self.history, self.number, self.bytes) = (history, number, bytes)
  }
}

/// A change as it is appended to a log, before it has a position.
struct PublishedChange: Sendable, Hashable {
  /// The JSON of the event; `nil` if every client may have missed something.
  var data: String?
  /// The time within which clients ask again, if the publisher has chosen one.
  var spread: Duration?
  var audience: ChangeAudience

  /// The largest data of an event, in bytes.
  static let largest = 64 << 10

  /// Creates the change that says that anything may have changed.
  static let reset = PublishedChange(data: nil, audience: .everyone)

  private init(data: String?, spread: Duration? = nil, audience: ChangeAudience) {
    (self.data, self.spread, self.audience) = (data, spread, audience)
  }

  init(_ targets: [ChangeTarget], by id: String? = nil, spread: Duration? = nil, to audience: ChangeAudience) {
    var data = ChangeEncoding.data(of: targets, by: id)
    // A client reads lines of a limited length, and an event that it cannot read names everything.
    if data.utf8.count > Self.largest { data = ChangeEncoding.data(of: targets.map(\.withoutValue), by: id) }
    if data.utf8.count > Self.largest { data = ChangeEncoding.data(of: [.all]) }
    self.init(data: data, spread: spread, audience: audience)
  }
}

/// The bytes of a change in a shared log: a line of the version, the spread in milliseconds and the
/// size of the audience's name, which follows, and then the data.
extension PublishedChange {
  var bytes: [UInt8] {
    let spread = spread.map { "\(ChangeEncoding.milliseconds($0))" } ?? "-"
    let name = audience == .everyone ? "-" : "\(audience.name.utf8.count)"
    let head = "1 \(data == nil ? "reset" : "change") \(spread) \(name)\n"
    return Array((head + (audience == .everyone ? "" : audience.name) + (data ?? "")).utf8)
  }

  /// Reads an entry; one of another release may mean anything, and is a reset.
  init(reading bytes: [UInt8]) {
    self = Self.read(bytes) ?? .reset
  }

  private static func read(_ bytes: [UInt8]) -> PublishedChange? {
    guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    let head = String(decoding: bytes[..<end], as: UTF8.self).split(separator: " ")
    guard head.count == 4, head[0] == "1", head[1] == "change" else { return nil }
    var rest = bytes[(end + 1)...]
    var audience = ChangeAudience.everyone
    if head[3] != "-" {
      guard let count = Int(head[3]), (0...rest.count).contains(count) else { return nil }
      audience = ChangeAudience(String(decoding: rest.prefix(count), as: UTF8.self))
      rest = rest.dropFirst(count)
    }
    let spread = Int64(head[2]).map { Duration.milliseconds($0) }
    return PublishedChange(data: String(decoding: rest, as: UTF8.self), spread: spread, audience: audience)
  }
}
