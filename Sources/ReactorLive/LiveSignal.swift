import Foundation
import ReactorCore
import ServerSentEvents

/// An event as ``LiveState`` reads it.
enum LiveSignal: Sendable {
  /// The first event of a stream of changes.
  case hello(LiveHello)
  /// These changes were made. The spread is the time within which clients ask again.
  case changed([LiveChange], spread: Duration)
  /// Changes may have been missed. The spread is the time within which clients ask again, if the
  /// server says one.
  case gap(spread: Duration? = nil)
  /// The server is about to end the stream.
  case leaving
  /// Nothing that concerns this layer.
  case nothing
}

extension LiveSignal {
  /// Returns the signal without the ids that earlier events had, and adds its own to them.
  func withoutIDs(_ earlier: inout Set<String>) -> LiveSignal {
    guard case .changed(var changes, let spread) = self else { return self }
    let ids = Set(changes.compactMap(\.by))
    guard !ids.isEmpty else { return self }
    for index in changes.indices where changes[index].by.map(earlier.contains) == true { changes[index].by = nil }
    earlier.formUnion(ids)
    return .changed(changes, spread: spread)
  }
}

/// A change that an event tells.
struct LiveChange: Sendable {
  var set: KeySet
  /// The strong entity tags that URLs of the set have now.
  var tags: [String: String] = [:]
  /// The `Change-Id` of the write that has made the change.
  var by: String?
  /// The new value of the set's only URL.
  var value: ToldValue?
  /// The server has removed the set's only URL.
  var isGone = false

  init(_ set: KeySet, by: String? = nil) { (self.set, self.by) = (set, by) }

  /// Creates the change of a URL.
  init(url: String, etag: String?, by: String?) {
    self.init(KeySet(urls: [url]), by: by)
    if let etag, etag.hasPrefix("\"") { tags = [url: etag] }
  }

  var isEmpty: Bool { self.set.isEmpty }

  /// Adds a change that is applied together with this one.
  ///
  /// - Returns: `false` if the two must be applied one after the other: they are of different
  ///   writes, or the tag of one would hide the other.
  mutating func join(_ other: LiveChange) -> Bool {
    guard value == nil, other.value == nil, !isGone, !other.isGone, by == other.by, tags.isEmpty == other.tags.isEmpty,
      tags.allSatisfy({ other.tags[$0.key] ?? $0.value == $0.value })
    else { return false }
    set.formUnion(other.set)
    tags.merge(other.tags) { own, _ in own }
    return true
  }
}

/// The first event of a stream of changes.
struct LiveHello: Sendable {
  /// A Boolean value that indicates whether the server repeats what is behind the request's
  /// position.
  var isResumed: Bool
  /// The position of the latest change.
  var head: LivePosition?
  var heartbeat: Duration?
  /// The time within which a client asks for everything.
  var spread: Duration?
  /// The time for which the server waits for a change before it ends its response; `nil` for a
  /// stream.
  var wait: Duration?
}

/// A position in a server's history: a space, which another history does not have, and a number.
struct LivePosition: Sendable, Hashable {
  var space: Substring
  var number: UInt64

  /// Creates a position from an id such as `k3x.1043`; `nil` for an id of another form.
  init?(_ id: String) {
    guard let dot = id.lastIndex(of: "."), dot != id.startIndex,
      let number = UInt64(id[id.index(after: dot)...])
    else { return nil }
    (space, self.number) = (id[..<dot], number)
  }

  var id: String { "\(space).\(number)" }
}

/// Reads the events of `LiveMapping.changes`.
struct ChangeReader: Sendable {
  /// Returns the key's URL for an absolute URL; `nil` if the layer may not request it.
  let url: @Sendable (_ reference: String) -> String?

  private struct Hello: Decodable {
    var v: Int?
    var resumed: Bool?
    var head: String?
    var heartbeat: Double?
    var spread: Double?
    var wait: Double?
  }

  private struct Reset: Decodable {
    var spread: Double?
  }

  private struct Change: Decodable {
    struct Target: Decodable {
      var url: String?
      var under: String?
      var group: String?
      var all: Bool?
      var spread: Double?
      var etag: String?
      var by: String?
      var from: String?
      var value: JSONValue?
      var merge: JSONValue?
      var gone: Bool?
    }
    var changes: [Target]
  }

  /// The targets that one event may have.
  static let targetLimit = 10_000
  /// The longest name of a target, in bytes.
  static let nameLimit = 8 << 10

  /// The paths of one event, each of which is compared with every key.
  static let pathLimit = 64

  func signal(of event: ServerSentEvent) -> LiveSignal {
    switch event.type {
    case "hello":
      guard let hello = decode(Hello.self, event.data) else { return .gap() }
      return .hello(
        LiveHello(
          isResumed: hello.resumed == true, head: hello.head.flatMap(LivePosition.init),
          heartbeat: hello.heartbeat.map { Duration.seconds(min(max($0, 1), 3_600)) },
          spread: hello.spread.flatMap(Self.spread),
          wait: hello.wait.map { Duration.seconds(min(max($0, 0), 3_600)) }))
    case "change":
      guard let change = decode(Change.self, event.data), change.changes.count <= Self.targetLimit else {
        return .gap()
      }
      return changed(change.changes)
    case "reset": return .gap(spread: decode(Reset.self, event.data)?.spread.flatMap(Self.spread))
    case "bye": return .leaving
    default: return .nothing
    }
  }

  private func changed(_ targets: [Change.Target]) -> LiveSignal {
    var changes: [LiveChange] = []
    var spread = 0.0
    for target in targets {
      let names = [target.url, target.under, target.group, target.etag, target.from, target.by]
      if names.contains(where: { $0?.utf8.count ?? 0 > Self.nameLimit }) { return .gap() }
      spread = max(spread, target.spread ?? 0)
      for change in self.changes(target) where !change.isEmpty {
        if let last = changes.indices.last, changes[last].join(change) { continue }
        changes.append(change)
      }
    }
    let paths = changes.reduce(0) { $0 + $1.set.paths.count }
    if paths > Self.pathLimit { changes = [LiveChange(.everything)] }
    return .changed(changes, spread: Self.spread(spread) ?? .zero)
  }

  /// Returns a time in milliseconds, of at most ten minutes.
  private static func spread(_ milliseconds: Double) -> Duration? { .milliseconds(min(max(milliseconds, 0), 600_000)) }

  private func changes(_ target: Change.Target) -> [LiveChange] {
    var changes: [LiveChange] = []
    // An address outside of the layer's API is not the layer's affair.
    if let url = target.url.flatMap(url) {
      var change = LiveChange(url: url, etag: target.etag, by: target.by)
      change.value = value(of: target, url)
      change.isGone = target.gone == true
      changes.append(change)
    }
    var others = KeySet(urls: [])
    if let path = target.under.flatMap(url) { others.formUnion(KeySet(paths: [path])) }
    if let group = target.group { others.formUnion(KeySet(groups: [group])) }
    if target.all == true { others.formUnion(.everything) }
    return changes + [LiveChange(others, by: target.by)]
  }

  /// Returns the value of a target; `nil` for none, or for an unreadable one.
  private func value(of target: Change.Target, _ url: String) -> ToldValue? {
    if let value = target.value {
      // A text is the body itself, so that its bytes are those of the tag.
      let body: Data? = if case .string(let text) = value { Data(text.utf8) } else { try? value.data() }
      return body.flatMap { ToldValue(url, .body($0), from: target.from, etag: target.etag) }
    }
    guard let merge = target.merge else { return nil }
    var patch: JSONValue? = merge
    // A patch that cannot be read leaves a change without a value, which is asked for.
    if case .string(let text) = merge { patch = try? JSONValue(parsing: Data(text.utf8)) }
    return patch.flatMap { ToldValue(url, .merge($0), from: target.from, etag: target.etag) }
  }

  /// Returns `nil` for data that cannot be read, which counts as a gap.
  private func decode<Value: Decodable>(_ type: Value.Type, _ data: String) -> Value? {
    do { return try JSONDecoder().decode(type, from: Data(data.utf8)) } catch { return nil }
  }
}
