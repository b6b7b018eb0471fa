import Foundation
import HTTPTypes
import ReactorConformance
import ReactorTesting
import Synchronization

/// The server of a world of servers with a shared store. Each path has a version, which is the body
/// of its responses.
final class ClusterOrigin: Sendable {
  /// When the responses with one version were asked for, and when they arrived.
  struct Exchanges: Sendable {
    var lastSent: Duration = .zero
    var lastReceived: Duration = .zero
  }

  private struct State {
    var versions: [String: Int] = [:]
    var exchanges: [String: Exchanges] = [:]
    var underWay: [String: Int] = [:]
    /// When the latest answer of each path was asked for, and arrived.
    var latest: [String: (sent: Duration, received: Duration)] = [:]
    /// The changes of each path that are being made, and when the latest began or ended.
    var changes: [String: (count: Int, latest: Duration)] = [:]
    var isWell = false
  }

  static let paths = ["/plain", "/vary", "/never", "/failing", "/own"]
  /// A part of each response to a request with a credential.
  static let secret = "secret-4711"
  /// The number of seconds for which a response is fresh.
  static let maximumAge = 20

  let world: SimulatedWorld
  let traits: ClusterTraits
  private let draws: SeededDraws
  private let state = Mutex(State())

  init(_ world: SimulatedWorld, _ traits: ClusterTraits, _ draws: SeededDraws) {
    (self.world, self.traits, self.draws) = (world, traits, draws)
  }

  func version(of path: String) -> Int { state.withLock { $0.versions[path] ?? 1 } }
  func exchanges(of text: String) -> Exchanges? { state.withLock { $0.exchanges[text] } }
  func recover() { state.withLock { $0.isWell = true } }

  /// A change of a path by a server begins, or ends.
  func changes(_ path: String, _ difference: Int) {
    let now = world.clock.now.elapsed
    state.withLock { state in
      let count = state.changes[path]?.count ?? 0
      state.changes[path] = (count + difference, now)
    }
  }

  /// While a response is fresh and nothing changes, no server requests it again.
  private func judgeAsking(_ path: String, by server: Int, at now: Duration) {
    let (latest, change) = state.withLock { ($0.latest[path], $0.changes[path] ?? (0, .zero)) }
    // Its ticket was drawn a little earlier.
    guard traits.isSound, !traits.refreshesEarly, path == "/plain", let latest, change.0 == 0,
      latest.sent > change.1 + traits.latency * 4
    else {
      return
    }
    let age = now - latest.received
    world.check(
      age < traits.latency * 4 + .milliseconds(50) || age > .seconds(Self.maximumAge - 2) - traits.originLatency * 2,
      "server \(server) asks for \(path) again after \(age)")
  }

  /// A change of which no server is told.
  func change(_ path: String) { state.withLock { $0.versions[path, default: 1] += 1 } }

  /// Sends a request, and returns its answer; `nil` if none arrives.
  func send(_ request: HTTPRequest, from server: Int) async -> (HTTPResponse, Data)? {
    let sent = world.clock.now.elapsed
    let path = request.path ?? ""
    let isRead = request.method == .get
    let name = "\(path) \(request.headerFields[.acceptLanguage] ?? "")"
    world.note(
      "server \(server) asks \(request.method) \(name)\(request.headerFields.contains(.ifNoneMatch) ? ", conditionally" : "")"
    )
    // Of equal requests for a response that can be shared, one is under way.
    let isCounted = isRead && ["/plain", "/vary"].contains(path)
    if isCounted {
      let count = state.withLock { state in
        state.underWay[name, default: 0] += 1
        return state.underWay[name] ?? 0
      }
      // Before anybody knows that the responses vary, one variant has the lease of the first.
      let limit = path == "/vary" ? 2 : 1
      world.check(!traits.isSound || count <= limit, "server \(server) asks for \(name), as another does")
    }
    if isRead { judgeAsking(path, by: server, at: sent) }
    defer { if isCounted { state.withLock { $0.underWay[name, default: 1] -= 1 } } }
    try? await world.clock.sleep(for: draws.duration(upTo: traits.originLatency))
    let (response, text) = answer(request, path)
    try? await world.clock.sleep(for: draws.duration(upTo: traits.originLatency))
    guard state.withLock(\.isWell) || !draws.chance(traits.originLoss) else {
      world.note("the answer to \(name) is lost")
      return nil
    }
    world.note("server \(server) gets \(response.status.code) \(text) for \(request.method) \(name)")
    let received = world.clock.now.elapsed
    if isRead, response.status.kind != .serverError {
      state.withLock { state in
        var exchanges = state.exchanges[text] ?? Exchanges()
        exchanges.lastSent = max(exchanges.lastSent, sent)
        exchanges.lastReceived = max(exchanges.lastReceived, received)
        state.exchanges[text] = exchanges
        state.latest[path] = (sent, received)
      }
    }
    return (response, response.status == .notModified ? Data() : Data(text.utf8))
  }

  /// - Returns: The response, and the text of its representation.
  private func answer(_ request: HTTPRequest, _ path: String) -> (HTTPResponse, String) {
    guard request.method == .get else {
      change(path)
      return (HTTPResponse(status: .noContent), "")
    }
    if path == "/failing", !state.withLock(\.isWell), draws.chance(0.5) {
      return (HTTPResponse(status: .serviceUnavailable), "")
    }
    var text = "\(path) \(version(of: path))"
    var fields: HTTPFields = [.cacheControl: "max-age=\(Self.maximumAge)"]
    switch path {
    case "/vary":
      fields[.vary] = "Accept-Language"
      text += " \(request.headerFields[.acceptLanguage] ?? "")"
    case "/never": fields[.cacheControl] = "no-store"
    case "/own":
      if request.headerFields[.authorization] != nil { text += " \(Self.secret)" }
    default: break
    }
    let tag = "\"\(text.replacing(" ", with: "-"))\""
    fields[.eTag] = tag
    let isKnown = request.headerFields[.ifNoneMatch] == tag
    return (HTTPResponse(status: isKnown ? .notModified : .ok, headerFields: fields), text)
  }
}
