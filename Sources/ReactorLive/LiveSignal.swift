import Foundation
import ReactorCore
import ServerSentEvents

/// An event as ``LiveState`` reads it.
enum LiveSignal: Sendable {
  /// The first event of a stream of changes.
  case hello(LiveHello)
  /// These keys have changed. The spread is the time within which clients ask again.
  case changed(KeySet, spread: Duration)
  /// Changes may have been missed.
  case gap
  /// The server is about to end the stream.
  case leaving
  /// Nothing that concerns this layer.
  case nothing
}

/// The first event of a stream of changes.
struct LiveHello: Sendable {
  /// A Boolean value that indicates whether the server repeats what is behind the request's
  /// position.
  var isResumed: Bool
  /// The position of the latest change.
  var head: LivePosition?
  var heartbeat: Duration?
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
  }

  private struct Change: Decodable {
    struct Target: Decodable {
      var url: String?
      var under: String?
      var group: String?
      var all: Bool?
      var spread: Double?
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
      guard let hello = decode(Hello.self, event.data) else { return .gap }
      let heartbeat = hello.heartbeat.map { Duration.seconds(min(max($0, 1), 3_600)) }
      return .hello(
        LiveHello(isResumed: hello.resumed == true, head: hello.head.flatMap(LivePosition.init), heartbeat: heartbeat))
    case "change":
      guard let change = decode(Change.self, event.data), change.changes.count <= Self.targetLimit else { return .gap }
      return changed(change.changes)
    case "reset": return .gap
    case "bye": return .leaving
    default: return .nothing
    }
  }

  private func changed(_ targets: [Change.Target]) -> LiveSignal {
    var set = KeySet(urls: [])
    var spread = 0.0
    for target in targets {
      let names = [target.url, target.under, target.group]
      if names.contains(where: { $0?.utf8.count ?? 0 > Self.nameLimit }) { return .gap }
      // An address outside of the layer's API is not the layer's affair.
      if let url = target.url.flatMap(url) { set.formUnion(KeySet(urls: [url])) }
      if let path = target.under.flatMap(url) { set.formUnion(KeySet(paths: [path])) }
      if let group = target.group { set.formUnion(KeySet(groups: [group])) }
      if target.all == true { set.formUnion(.everything) }
      spread = max(spread, target.spread ?? 0)
    }
    if set.paths.count > Self.pathLimit { set = .everything }
    return .changed(set, spread: .milliseconds(min(max(spread, 0), 600_000)))
  }

  /// Returns `nil` for data that cannot be read, which counts as a gap.
  private func decode<Value: Decodable>(_ type: Value.Type, _ data: String) -> Value? {
    do { return try JSONDecoder().decode(type, from: Data(data.utf8)) } catch { return nil }
  }
}
