/// The latest changes of a feed, each encoded once, and their positions.
struct ChangeLog: Sendable {
  struct Entry: Sendable {
    let bytes: [UInt8]
    let audience: ChangeAudience
  }

  /// The name of this history, which no other has.
  private(set) var space: String
  private let limit: Int
  /// The entries as a ring: the one of position `base + 1 + n` is at `n % limit`.
  private var ring: [Entry] = []
  private var base: UInt64 = 0
  /// The position of the latest entry; zero before the first.
  private(set) var head: UInt64 = 0

  init(space: String, limit: Int) {
    self.space = space
    self.limit = max(limit, 1)
  }

  /// The position before the first entry that is kept.
  private var oldest: UInt64 { head - UInt64(ring.count) }

  private func index(of position: UInt64) -> Int { Int((position - base - 1) % UInt64(limit)) }

  func id(of position: UInt64) -> String { "\(space).\(position)" }

  /// Returns the position that a client names; `nil` if it is of another history, or if what came
  /// behind it is no longer kept.
  ///
  /// - Parameter isShared: `true` if another server may have told entries that are not here yet.
  func position(of id: String, isShared: Bool = false) -> UInt64? {
    guard let dot = id.lastIndex(of: "."), id[..<dot] == space, let number = UInt64(id[id.index(after: dot)...]),
      number >= oldest, isShared || number <= head
    else { return nil }
    return number
  }

  /// - Parameter spread: the time within which clients ask again; `nil` for at once.
  mutating func append(_ change: PublishedChange, spread: Duration?) {
    guard let data = change.data else { return forget() }
    let event = ChangeEncoding.event("change", ChangeEncoding.adding(spread, to: data), id: id(of: head + 1))
    append(Entry(bytes: event, audience: change.audience))
  }

  /// Appends an entry that says nothing, so that the next one has its number.
  mutating func skip() { append(Entry(bytes: [], audience: .everyone)) }

  private mutating func append(_ entry: Entry) {
    head += 1
    if ring.count < limit { ring.append(entry) } else { ring[index(of: head)] = entry }
  }

  /// Begins another history, or continues this one behind entries that were not read.
  mutating func restart(_ space: String, behind number: UInt64) {
    (self.space, base, head, ring) = (space, number, number, [])
  }

  /// Forgets every entry, so that each client learns that it may have missed something.
  mutating func forget() {
    head += 1
    (ring, base) = ([], head)
  }

  /// Returns the bytes of what is behind `position` for a client of `audiences`; `nil` if that is
  /// no longer kept.
  ///
  /// - Parameter largest: the size at which the answer is cut, so that a slow client is not given
  ///   all at once.
  func bytes(
    behind position: inout UInt64, for audiences: Set<ChangeAudience>, atMost largest: Int
  ) -> [UInt8]? {
    guard position >= oldest else { return nil }
    var bytes: [UInt8] = []
    while position < head, bytes.count < largest {
      position += 1
      let entry = ring[index(of: position)]
      if entry.audience == .everyone || audiences.contains(entry.audience) { bytes += entry.bytes }
    }
    return bytes
  }
}

/// The bytes of the events (WHATWG HTML §9.2, RFC 8259).
enum ChangeEncoding {
  /// - Parameter data: JSON, which has no line ends.
  static func event(_ type: String, _ data: String = "{}", id: String? = nil) -> [UInt8] {
    Array("event: \(type)\n\(id.map { "id: \($0)\n" } ?? "")data: \(data)\n\n".utf8)
  }

  static func retry(_ duration: Duration) -> [UInt8] {
    Array("retry: \(milliseconds(duration))\n".utf8)
  }

  static func milliseconds(_ duration: Duration) -> Int64 {
    Int64(min(max(duration, .zero), .seconds(600)) / .milliseconds(1))
  }

  /// Returns the data of an event with a spread, which counts for all of its targets.
  static func adding(_ spread: Duration?, to data: String) -> String {
    guard let spread, data.hasSuffix("}]}") else { return data }
    return data.dropLast(3) + ",\"spread\":\(milliseconds(spread))}]}"
  }

  static func data(of targets: [ChangeTarget], by id: String? = nil) -> String {
    let rest = id.map { ",\"by\":\(quoted($0))" } ?? ""
    let members = targets.map { target in
      switch target {
      case .url(let url, let etag): member("url", url, [("etag", etag)], rest)
      case .value(let url, let body, let from, let etag):
        member("url", url, [("from", from), ("etag", etag), ("value", body)], rest)
      case .merge(let url, let patch, let from, let etag):
        member("url", url, [("from", from), ("etag", etag), ("merge", patch)], rest)
      case .gone(let url): member("url", url, [], ",\"gone\":true" + rest)
      case .under(let url): member("under", url, [], rest)
      case .group(let name): member("group", name, [], rest)
      case .all: "{\"all\":true\(rest)}"
      }
    }
    return "{\"changes\":[\(members.joined(separator: ","))]}"
  }

  private static func member(_ kind: String, _ name: String, _ fields: [(String, String?)], _ rest: String) -> String {
    let fields = fields.compactMap { field, value in value.map { ",\"\(field)\":\(quoted($0))" } }
    return "{\"\(kind)\":\(quoted(name))\(fields.joined())\(rest)}"
  }

  static func hello(
    isResumed: Bool, head: String, heartbeat: Duration, spread: Duration?, wait: Duration?
  ) -> String {
    let spread = spread.map { ",\"spread\":\(milliseconds($0))" } ?? ""
    let wait = wait.map { ",\"wait\":\($0 / .seconds(1))" } ?? ""
    let times = "\"heartbeat\":\(heartbeat / .seconds(1))\(spread)\(wait)"
    return "{\"v\":1,\"resumed\":\(isResumed),\"head\":\(quoted(head)),\(times)}"
  }

  /// The event that says that history was lost.
  static func reset(_ id: String, spread: Duration?) -> [UInt8] {
    event("reset", spread.map { "{\"spread\":\(milliseconds($0))}" } ?? "{}", id: id)
  }

  /// Returns a JSON string (RFC 8259 §7).
  static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\u{0}"..<"\u{20}", "\u{7F}", "\u{2028}", "\u{2029}":
        let hex = String(scalar.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}

extension ChangeTarget {
  /// The same change, without the value.
  var withoutValue: ChangeTarget {
    switch self {
    case .value(let url, _, _, let etag), .merge(let url, _, _, let etag): .url(url, etag: etag)
    default: self
    }
  }
}
