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
    /// Whether one of them is under way.
    var isBeingRemoved: Bool
    var asked: Duration
  }

  /// That what was acknowledged is on disk, unless a removal has begun since.
  struct Promise: Sendable {
    var order = 0
    /// How many removals had begun when it was asked for.
    var removals = 0
  }

  struct Key: Hashable {
    var owner: String
    var path: String
  }

  /// A request that callers share, and the fences at its beginning.
  struct UnderWay {
    var order: Int
    var fences: Int
  }

  struct State {
    var settled: [Key: Int] = [:]
    var invalidated: [Key: Int] = [:]
    var removals: [Key: Int] = [:]
    /// Counts what begins anew: beside it a second request of a key is no fault.
    var fences: [Key: Int] = [:]
    /// Those that have begun and not ended: the library may see them sooner or later.
    var open: [Key: Int] = [:]
    /// The removals among them.
    var removing: [Key: Int] = [:]
    var requests: [Key: Int] = [:]
    var promises: [Key: Promise] = [:]
    var diskHasCrashed = false
    /// Whether what is shown may have been read from disk: there the wall clock alone says how old it is.
    var readsDisk = false
    var underWay: [Key: UnderWay] = [:]
  }

  let world: SimulatedWorld
  let server: ReferenceServer
  let freshFor: Duration = .seconds(300)
  /// What goes wrong in this world until it is made well.
  let faults: SimulatedFaults
  let state = Mutex(State())

  init(_ world: SimulatedWorld) {
    self.world = world
    faults = world.currentFaults
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
  ///
  /// - Parameter isForgetful: whether memory keeps hardly anything. What was acknowledged must be on disk then.
  func layer(_ owner: String, _ persistence: any Persistence, isForgetful: Bool) -> ModelLayer {
    state.withLock { $0.readsDisk = $0.readsDisk || isForgetful || faults.saveFailure > 0 }
    var configuration = world.configuration
    configuration.failsWhenSaveFails = isForgetful
    configuration.freshFor = freshFor
    configuration.keepUnusedFor = isForgetful ? .seconds(2) : .never
    if isForgetful { configuration.memoryLimit.models = 1 }
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
        removals: $0.removals[key] ?? 0, isBeingRemoved: $0.removing[key, default: 0] > 0,
        asked: world.clock.now.elapsed)
    }
  }

  /// How many requests were made, retries among them.
  func requests(_ owner: String, _ path: String) -> Int {
    state.withLock { $0.requests[Key(owner: owner, path: path)] ?? 0 }
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
        if removes {
          state.removals[key, default: 0] += 1
          state.removing[key, default: 0] += 1
        }
      }
    }
    return server.nextOrder()
  }

  /// It has ended, well or not.
  func end(_ owner: String, _ paths: [String], removes: Bool = false) {
    state.withLock { state in
      for key in paths.map({ Key(owner: owner, path: $0) }) {
        state.open[key, default: 0] -= 1
        if removes { state.removing[key, default: 0] -= 1 }
      }
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

  /// A removal has failed: what is on disk comes back, which a save that failed may not have replaced, nor an invalidation marked.
  func notRemoved(_ owner: String, _ paths: [String]) {
    state.withLock { state in
      for key in paths.map({ Key(owner: owner, path: $0) }) {
        state.settled[key] = nil
        state.invalidated[key] = nil
      }
    }
  }

  /// Ends the process: from here on its disk fails.
  func crashDisk() {
    state.withLock { $0.diskHasCrashed = true }
    world.disk.crash()
  }

  var diskHasCrashed: Bool { state.withLock(\.diskHasCrashed) }

  func promised(_ owner: String, _ path: String, _ order: Int, _ before: Before) {
    let key = Key(owner: owner, path: path)
    state.withLock { state in
      guard order >= state.promises[key]?.order ?? 0 else { return }
      state.promises[key] = Promise(order: order, removals: before.removals)
    }
  }

  func promise(_ owner: String, _ path: String) -> Promise {
    state.withLock { $0.promises[Key(owner: owner, path: path)] ?? Promise() }
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
    let least = max(min(before.settled, self.before(owner, path).settled), floor)
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
    // A `Date` of these years counts in steps of 0.12 µs: where the lifetime ends at this very time, it may be over or not.
    let resolution = Duration.nanoseconds(240)
    // Of an answer that was under way as the clock was set back, nobody knows how long it took.
    let setBack = world.setBack
    let unknown = setBack == .zero ? .zero : state.withLock(\.readsDisk) ? setBack : min(setBack, faults.latency * 2)
    let isGood = words.contains { word in
      word.order > before.invalidated
        && (word.saidAt + lifetime + resolution + unknown > before.asked
          || (server.arrival(word.order) ?? .zero) + saving >= before.asked)
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
