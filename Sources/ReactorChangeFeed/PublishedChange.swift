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

  /// The change as one that may come after newer ones: clients ask whether a resource is gone.
  var asQuestion: PublishedChange {
    var change = self
    // In a string, a quote is escaped: only a member is spelled like this.
    change.data = data?.replacing(",\"gone\":true", with: "")
    return change
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
