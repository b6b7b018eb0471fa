import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorTesting
import Synchronization

typealias Document = ReferenceServer.Document

/// The values that may legally be seen: per owner, path and type, the words of the server and the
/// fences that were set since.
///
/// It is simple on purpose: it knows of no flight, no generation, no tier. Each value that somebody
/// gets is held against it. A local write is a write to its own type, and makes what the other
/// types have stale.
final class ReferenceModel: Sendable {
  /// The known facts when a caller began to ask.
  struct Before: Sendable {
    /// The order of the latest acknowledged write or removal: nothing older may be seen.
    var settled: Int
    /// The order of the latest acknowledged invalidation: nothing older counts as fresh.
    var invalidated: Int
    /// The number of removals that began. A removal that fails may leave a value on disk that a
    /// failed save has not replaced.
    var removals: Int
    /// True while a removal is in flight.
    var isBeingRemoved: Bool
    /// The number of failed removals.
    var failedRemovals: Int
    /// Another type's local write is under way. It has fenced the flight that it found, so a caller
    /// that joins that flight before the write is announced gets an answer that is not stored
    /// (decision 0016).
    var isBeingWritten: Bool
    /// The number of operations that may have replaced the value on disk.
    var overwritten: Int
    var asked: Duration
  }

  /// That what was acknowledged is on disk, unless a removal has begun since.
  struct Promise: Sendable {
    var order = 0
    /// The number of removals that had begun before the request.
    var removals = 0
    /// The same of what may take its place.
    var overwritten = 0
  }

  /// One flight's, whatever the language.
  struct Key: Hashable {
    var owner: String
    var path: String
    var kind: Place.Kind

    init(_ place: Place) { (owner, path, kind) = (place.owner, place.path, place.kind) }
    init(_ owner: String, _ path: String, _ kind: Place.Kind) {
      (self.owner, self.path, self.kind) = (owner, path, kind)
    }

    static func all(_ owner: String, _ paths: [String]) -> [Key] {
      paths.flatMap { path in Place.Kind.allCases.map { Key(owner, path, $0) } }
    }
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
    /// Counts what begins again: beside it a second request of a key is no fault.
    var fences: [Key: Int] = [:]
    /// The operations in progress: the library may see them sooner or later.
    var open: [Key: Int] = [:]
    /// The removals among them.
    var removing: [Key: Int] = [:]
    var failedRemovals: [Key: Int] = [:]
    /// The local writes of the other type among them.
    var writing: [Key: Int] = [:]
    var requests: [Key: Int] = [:]
    var promises: [Place: Promise] = [:]
    var overwritten: [Place: Int] = [:]
    /// The same when a request was sent. An overtaken response is not stored.
    var overwrittenWhenSent: [Int: [Place: Int]] = [:]
    var diskHasCrashed = false
    /// True if the value may come from disk, where only the wall clock gives its age.
    var readsDisk = false
    var underWay: [Key: UnderWay] = [:]
    /// Another type was written: who joins a flight from before makes it begin again, once.
    var mayRestart: Set<Key> = []
  }

  let world: SimulatedWorld
  let server: ReferenceServer
  let freshFor: Duration = .seconds(300)
  /// The faults of this world until it recovers.
  let faults: SimulatedFaults
  /// The delay of a sheet beyond a document's, and the polling interval of documents; zero for
  /// none.
  let slowness: Duration
  let polling: Duration
  let state = Mutex(State())

  init(_ world: SimulatedWorld) {
    self.world = world
    faults = world.currentFaults
    // Only the clock: the world has the network, which has the server.
    let maximumAge = world.draws.element(of: [0, 1, 5, 60]) ?? 1
    let varying = world.draws.element(of: [[], [], ["/a"], Self.paths]) ?? []
    // Drawn apart, so that the seeds of before draw what they drew.
    let searched: Set = SeededDraws(seed: ~world.seed).chance(0.2) ? ["/b"] : []
    server = ReferenceServer(maximumAge: maximumAge, varying: Set(varying), searched: searched) {
      [clock = world.clock] in
      (clock.now.elapsed, clock.wallClock())
    }
    let isOvertaken = world.draws.chance(0.2)
    slowness = isOvertaken ? .seconds(5) : .zero
    polling = isOvertaken ? world.draws.element(of: [.milliseconds(500), .seconds(2)]) ?? .zero : .zero
    world.network.serve { [server] request, _ in
      server.answer(request, order: request.headerFields[Self.order].flatMap(Int.init) ?? 0)
    }
  }

  static let paths = ["/a", "/b"]
  /// The field in which a request says its number.
  static let order = HTTPField.Name("X-Order") ?? .range

  /// The real thing: a layer of `owner` on the world's network.
  ///
  /// - Parameter isForgetful: whether memory keeps hardly anything. What was acknowledged must be
  ///   on disk then.
  func layer(_ owner: String, _ persistence: any Persistence, isForgetful: Bool) -> ModelLayer {
    state.withLock { $0.readsDisk = $0.readsDisk || isForgetful || faults.saveFailure > 0 }
    var configuration = world.configuration
    if isForgetful { configuration.saving = .required }
    configuration.freshFor = freshFor
    configuration.keepUnusedFor = isForgetful ? .seconds(2) : .never
    if isForgetful { configuration.memoryLimit.models = 1 }
    let backend = Backend(
      baseURL: Bench.url.deletingLastPathComponent(), transport: world.network,
      middlewares: [RequestSigner(model: self, owner: owner)], reachability: world.reachability)
    return ModelLayer(backend: backend, persistence: persistence, scope: Scope(owner), configuration: configuration)
  }

  func before(_ place: Place) -> Before {
    let key = Key(place)
    return state.withLock {
      Before(
        settled: $0.settled[key] ?? 0, invalidated: $0.invalidated[key] ?? 0,
        removals: $0.removals[key] ?? 0, isBeingRemoved: $0.removing[key, default: 0] > 0,
        failedRemovals: $0.failedRemovals[key] ?? 0, isBeingWritten: $0.writing[key, default: 0] > 0,
        overwritten: $0.overwritten[place] ?? 0, asked: world.clock.now.elapsed)
    }
  }

  /// Returns the number of requests, retries included.
  func requests(_ place: Place) -> Int {
    state.withLock { $0.requests[Key(place)] ?? 0 }
  }
}

// MARK: - What they see

extension ReferenceModel {
  /// Holds a value against what may be seen.
  ///
  /// - Parameters:
  ///   - floor: what it may not be older than, besides.
  ///   - mustBeGood: whether `cacheFirst` has given it.
  ///   - mustBeAsked: whether `networkOnly` has.
  ///   - isCurrent: whether it is said to be fresh.
  /// - Returns: the least number that it may have: what is seen later may not be older than that.
  @discardableResult
  func judge(
    _ document: Document, _ place: Place, _ before: Before, floor: Int = 0, mustBeGood: Bool = false,
    mustBeAsked: Bool = false, isCurrent: Bool = false,
    _ who: String
  ) -> Int {
    let (owner, path) = (place.owner, place.path)
    world.check(document.isWhole, "\(who): a mixed value, \(document)")
    world.check(document.owner == owner, "\(who): what belongs to \(document.owner) was shown to \(owner)")
    world.check(document.path == path, "\(who): asked for \(path), got \(document.path)")
    let isOther = document.version > 0 && server.varying.contains(path) && document.language != place.language
    world.check(!isOther, "\(who): asked for \(place.language), got \(document.language)")
    let words = server.words(owner, path).filter { $0.document == document }
    world.check(!words.isEmpty, "\(who): nobody has ever said \(document)")
    // A removal that has failed since brings back what is on disk, which an invalidation may not
    // have marked.
    var before = before
    before.invalidated = min(before.invalidated, self.before(place).invalidated)
    let least = max(min(before.settled, self.before(place).settled), floor)
    let isOld = { (order: Int) in order < least && !self.server.areSentTogether(order, least) }
    guard let word = words.first(where: { !isOld($0.order) }) else {
      // A write that could not be saved is only in memory.
      let acknowledged = faults.saveFailure > 0 ? 0 : min(before.settled, self.before(place).settled)
      if let word = words.first(where: { $0.order >= acknowledged && isLater($0.order, than: least) }) {
        return max(word.order, acknowledged)
      }
      world.check(false, "\(who): \(document) is older than \(least) (\(before.settled) was acknowledged)")
      return floor
    }
    if isCurrent {
      let isDeclared = !words.contains { $0.order > before.invalidated }
      world.check(!isDeclared, "\(who): \(document) is called fresh, and was declared stale (\(before.invalidated))")
    }
    if mustBeGood { judgeGood(document, words, before, who) }
    if mustBeAsked { judgeAsked(document, words, before, who) }
    return max(word.order, least)
  }

  /// Returns `true` where another type's answer, of `order`, has overtaken an answer that has come
  /// since `time`.
  private func overtakes(_ order: Int, since time: Duration) -> Bool {
    server.arrivals(since: time).contains {
      $0 < order || server.areSentTogether($0, order) || isLater(order, than: $0)
    }
  }

  /// Returns `true` where a wall clock that was set back may make one answer look later than
  /// another. Its times decide where numbers tell nothing, as for a record that was replaced only
  /// on disk. A time in the future is older than any.
  private func isLater(_ order: Int, than other: Int) -> Bool {
    guard world.setBack > .zero, let shown = server.wallTimes(order), let known = server.wallTimes(other) else {
      return false
    }
    let asked = min(known.sent, known.arrived)
    // A value counts from its latest 304, by a clock that may have been set back in between.
    let setBack = world.setBack / .seconds(1)
    return asked > world.clock.wallClock() || shown.arrived.addingTimeInterval(setBack) >= asked
  }

  /// Judges a value that `cacheFirst` returned, from memory or from its own request.
  private func judgeGood(_ document: Document, _ words: [ReferenceServer.Word], _ before: Before, _ who: String) {
    let lifetime: Duration = document.version == 0 ? freshFor : .seconds(server.maximumAge)
    // A caller that asks while the answer is being saved joins its flight. Other saves of the key
    // may be queued before it.
    let saving = world.currentFaults.diskLatency * 4
    // A `Date` of these years counts in steps of 0.12 µs: where the lifetime ends at this very
    // time, it may be over or not.
    let resolution = Duration.nanoseconds(240)
    // Of an answer that was under way as the clock was set back, it is unknown how long it took.
    let setBack = world.setBack
    let longest = faults.latency * 2 + slowness
    let unknown = setBack == .zero ? .zero : state.withLock(\.readsDisk) ? setBack : min(setBack, longest)
    let isGood = words.contains { word in
      word.order > before.invalidated
        && (word.saidAt + lifetime + resolution + unknown > before.asked
          || (server.arrival(word.order) ?? .zero) + saving >= before.asked
          // Its own answer has come, and had been overtaken by this one.
          || overtakes(word.order, since: before.asked - saving))
    }
    world.check(isGood, "\(who): \(document) was neither fresh at \(before.asked) nor asked for")
  }
}

extension ReferenceModel {
  /// Judges a value that `networkOnly` returned: an answer that arrived after the call, or a write
  /// made since.
  private func judgeAsked(_ document: Document, _ words: [ReferenceServer.Word], _ before: Before, _ who: String) {
    let saving = world.currentFaults.diskLatency * 4
    let isAsked = words.contains { word in
      document.version == 0 || (server.arrival(word.order) ?? .zero) + saving >= before.asked
        || overtakes(word.order, since: before.asked - saving)
    }
    world.check(isAsked, "\(who): \(document) was known at \(before.asked), and nobody was asked")
  }
}
