import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization

typealias Document = ReferenceServer.Document

/// What may legally be seen, beside the real thing: per owner and path the words of the server, and the fences that were set since.
///
/// It is simple on purpose: it knows of no flight, no generation, no tier. Each value that somebody gets is held against it.
final class ReferenceModel: Sendable {
  /// What was known when somebody began to ask.
  struct Before: Sendable {
    /// What was written or removed and acknowledged: nothing older may be seen.
    var settled: Int
    /// What was declared stale and acknowledged: nothing older counts as fresh.
    var invalidated: Int
    /// How many removals were begun. One that fails may leave on disk what a save that failed has not replaced.
    var removals: Int
    var asked: Duration
  }

  private struct Key: Hashable {
    var owner: String
    var path: String
  }

  private struct State {
    var settled: [Key: Int] = [:]
    var invalidated: [Key: Int] = [:]
    var removals: [Key: Int] = [:]
    /// Counts what begins anew: beside it a second request of a key is no fault.
    var fences: [Key: Int] = [:]
    /// Those that have begun and not ended: the library may see them sooner or later.
    var open: [Key: Int] = [:]
    /// The fences at the beginning of the request that is under way.
    var underWay: [Key: Int] = [:]
  }

  let world: SimulatedWorld
  let server: ReferenceServer
  let freshFor: Duration = .seconds(300)
  private let state = Mutex(State())

  init(_ world: SimulatedWorld) {
    self.world = world
    // The clock alone: the world has the network, which has the server.
    server = ReferenceServer(maximumAge: world.draws.element(of: [0, 1, 5, 60]) ?? 1) { [clock = world.clock] in
      clock.now.elapsed
    }
    world.network.serve { [server] request, _ in
      server.answer(request, order: request.headerFields[Self.order].flatMap(Int.init) ?? 0)
    }
  }

  static let paths = ["/a", "/b"]
  /// The field in which a request says its number.
  static let order = HTTPField.Name("X-Order") ?? .range

  /// The real thing: a layer of `owner` on the world's network.
  func layer(_ owner: String, _ persistence: any Persistence, failsWhenSaveFails: Bool = false) -> ModelLayer {
    var configuration = world.configuration
    configuration.failsWhenSaveFails = failsWhenSaveFails
    configuration.freshFor = freshFor
    configuration.keepUnusedFor = .never
    let backend = Backend(
      baseURL: Bench.url.deletingLastPathComponent(), transport: world.network,
      middlewares: [Stamp(model: self, owner: owner)], reachability: world.reachability)
    return ModelLayer(backend: backend, persistence: persistence, scope: Scope(owner), configuration: configuration)
  }

  func before(_ owner: String, _ path: String) -> Before {
    let key = Key(owner: owner, path: path)
    return state.withLock {
      Before(
        settled: $0.settled[key] ?? 0, invalidated: $0.invalidated[key] ?? 0,
        removals: $0.removals[key] ?? 0, asked: world.clock.now.elapsed)
    }
  }
}

// MARK: - What users do

extension ReferenceModel {
  /// Begins a write, a removal or an invalidation.
  ///
  /// - Returns: its number, for its end.
  func begin(_ owner: String, _ paths: [String], removes: Bool = false) -> Int {
    state.withLock { state in
      for key in paths.map({ Key(owner: owner, path: $0) }) {
        state.fences[key, default: 0] += 1
        state.open[key, default: 0] += 1
        if removes { state.removals[key, default: 0] += 1 }
      }
    }
    return server.nextOrder()
  }

  /// It has ended, well or not.
  func end(_ owner: String, _ paths: [String]) {
    state.withLock { state in
      for path in paths { state.open[Key(owner: owner, path: path), default: 0] -= 1 }
    }
  }

  /// A write or a removal was acknowledged.
  func settled(_ owner: String, _ paths: [String], _ order: Int) {
    state.withLock { state in
      for path in paths {
        let key = Key(owner: owner, path: path)
        state.settled[key] = max(state.settled[key] ?? 0, order)
      }
    }
  }

  func invalidated(_ owner: String, _ path: String, _ order: Int) {
    let key = Key(owner: owner, path: path)
    state.withLock { $0.invalidated[key] = max($0.invalidated[key] ?? 0, order) }
  }
}

// MARK: - What they see

extension ReferenceModel {
  /// Holds a value against what may be seen.
  ///
  /// - Parameters:
  ///   - floor: what it may not be older than, besides.
  /// - Returns: the least number that it may have: what is seen later may not be older than that.
  @discardableResult
  func judge(
    _ document: Document, _ owner: String, _ path: String, _ before: Before, floor: Int = 0, mustBeGood: Bool = false,
    mustBeAsked: Bool = false,
    _ who: String
  ) -> Int {
    world.check(document.isWhole, "\(who): a mixed value, \(document)")
    world.check(document.owner == owner, "\(who): what belongs to \(document.owner) was shown to \(owner)")
    world.check(document.path == path, "\(who): asked for \(path), got \(document.path)")
    let words = server.words(owner, path).filter { $0.document == document }
    world.check(!words.isEmpty, "\(who): nobody has ever said \(document)")
    let least = max(before.settled, floor)
    guard let word = words.first(where: { $0.order >= least }) else {
      world.check(false, "\(who): \(document) is older than \(least) (\(before.settled) was acknowledged)")
      return floor
    }
    if mustBeGood { judgeGood(document, words, before, who) }
    if mustBeAsked { judgeAsked(document, words, before, who) }
    return word.order
  }

  /// What `cacheFirst` may use without a question, or has got for one.
  private func judgeGood(_ document: Document, _ words: [ReferenceServer.Word], _ before: Before, _ who: String) {
    let lifetime: Duration = document.version == 0 ? freshFor : .seconds(server.maximumAge)
    // Whoever asks while the answer is being saved joins its flight; other saves of the key may be before it.
    let saving = world.currentFaults.diskLatency * 4
    let isGood = words.contains { word in
      word.order > before.invalidated
        && (word.saidAt + lifetime > before.asked || (server.arrival(word.order) ?? .zero) + saving >= before.asked)
    }
    world.check(isGood, "\(who): \(document) was neither fresh at \(before.asked) nor asked for")
  }
}

extension ReferenceModel {
  /// What `networkOnly` gives: an answer that was there after it was asked for, or what was written meanwhile.
  private func judgeAsked(_ document: Document, _ words: [ReferenceServer.Word], _ before: Before, _ who: String) {
    let saving = world.currentFaults.diskLatency * 4
    let isAsked = words.contains { word in
      document.version == 0 || (server.arrival(word.order) ?? .zero) + saving >= before.asked
    }
    world.check(isAsked, "\(who): \(document) was known at \(before.asked), and nobody was asked")
  }
}

/// Signs each request with its owner and its number, and sees that one at a time is under way.
private struct Stamp: TransportMiddleware {
  let model: ReferenceModel
  let owner: String

  func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
    let order = model.server.nextOrder()
    var request = request
    request.headerFields[.authorization] = owner
    request.headerFields[ReferenceModel.order] = "\(order)"
    let path = request.path ?? ""
    let number = model.requestBegins(owner, path)
    defer { model.requestEnds(owner, path, number) }
    model.world.note("\(owner)\(path): request \(order)")
    let (response, data) = try await next(request, body)
    model.server.arrived(order)
    model.world.note("\(owner)\(path): request \(order) gets \(response.status.code)")
    return (response, data)
  }
}

extension ReferenceModel {
  /// - Returns: the fences at its beginning.
  fileprivate func requestBegins(_ owner: String, _ path: String) -> Int {
    let key = Key(owner: owner, path: path)
    let (other, fences) = state.withLock { state in
      let fences = state.fences[key] ?? 0
      let other = state.underWay[key]
      state.underWay[key] = state.open[key, default: 0] == 0 ? fences : nil
      return (other, fences)
    }
    world.check(other != fences, "\(owner)\(path): two requests at once, and nothing came between them")
    return fences
  }

  fileprivate func requestEnds(_ owner: String, _ path: String, _ fences: Int) {
    let key = Key(owner: owner, path: path)
    state.withLock { state in
      if state.underWay[key] == fences { state.underWay[key] = nil }
    }
  }
}
