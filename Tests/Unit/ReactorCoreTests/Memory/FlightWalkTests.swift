import HTTPTypes
import TestSupport
import Testing

@testable import ReactorCore

/// Random events, as the shell may send them, with the invariants checked at each step.
@Suite struct `A flight to which anything happens` {
  @Test(arguments: 1...4) func `in random orders, a flight resolves each waiter once, with one request at a time`(
    seed: UInt64
  ) {
    walk(seed) { FlightWalk(random: $0) }
  }

  /// Several variants of the key, of which persistence has some.
  @Test(arguments: 1...4) func `in random orders, a flight finds each waiter's variant in the persistence`(seed: UInt64)
  {
    walk(seed) { random in
      var random = random
      let disk = FlightWalk.languages.map { _ in CopyAtHand.allCases.randomElement(using: &random) ?? .none }
      return FlightWalk(random: random, disk: disk)
    }
  }

  private func walk(_ seed: UInt64, _ begin: (SplitMix64) -> FlightWalk) {
    var random = SplitMix64(seed: seed)
    for number in 0..<Chance.count("REACTOR_WALKS", default: 1_500, thorough: 5_000) {
      var walk = begin(random)
      for _ in 0..<14 {
        walk.step()
        if let fault = walk.fault {
          Issue.record("seed \(seed), walk \(number): \(fault)\n\(walk.story.joined(separator: "\n"))")
          return
        }
      }
      random = walk.random
    }
  }
}

/// SplitMix64, by Steele, Lea and Flood: the same numbers for a seed everywhere.
struct SplitMix64: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

/// A flight and what a shell would know of it.
private struct FlightWalk {
  var random: SplitMix64
  private(set) var story: [String] = []
  private(set) var fault: String?

  private var flight = FlightMachine(id: 1)
  /// The waiters that have joined, and were neither resolved nor have left.
  private var waiting: [UInt64: FlightMachine.Waiter.Kind] = [:]
  private var lastID: UInt64 = 0
  /// The copies in persistence, by language; `nil` if they change at any time.
  private let disk: [CopyAtHand]?
  /// The languages that a load was begun for, and the one under way.
  private var loads: Set<Int> = []
  private var loading: Int?
  private var isRequesting = false
  private var wantsNetwork = false

  static let languages = ["en", "de", "fr"]

  init(random: SplitMix64, disk: [CopyAtHand]? = nil) {
    self.random = random
    self.disk = disk
  }

  private static func resource(_ language: Int) -> Resource {
    Resource("notes", headers: [.acceptLanguage: languages[language]])
  }

  private static func language(of resource: Resource) -> Int {
    languages.firstIndex { $0 == resource.headers[.acceptLanguage] } ?? 0
  }

  mutating func step() {
    let copy = CopyAtHand.allCases.randomElement(using: &random)?.status
    let event = Event.allCases.filter(isPossible).randomElement(using: &random) ?? .join
    // With a disk, memory has what was loaded of it.
    let known = loads.subtracting(event == .loaded ? [] : loading.map { [$0] } ?? [])
    let actions = perform(event) { [disk] resource in
      guard let disk else { return copy }
      let language = Self.language(of: resource)
      return known.contains(language) ? disk[language].status : nil
    }
    story.append(
      "\(event) → \(actions.map(\.text).joined(separator: ", ")); waiters \(flight.waiters.inOrder.map(\.id))")
    note(actions)
    if fault == nil { fault = brokenInvariant(actions) }
    if waiting.isEmpty { beginAnew() }
  }

  private enum Event: CaseIterable {
    case join, joinAgain, leave, waitedEnough, loaded, succeeded, failed, unreachable, reconnected, restarted
  }

  private func isPossible(_ event: Event) -> Bool {
    switch event {
    case .join, .joinAgain: true
    case .leave, .reconnected, .restarted: !waiting.isEmpty
    case .waitedEnough: waiting.values.contains(.caller)
    case .loaded: loading != nil
    case .succeeded, .failed, .unreachable: isRequesting
    }
  }

  private mutating func perform(_ event: Event, copy: (Resource) -> CopyStatus?) -> [FlightMachine.Action] {
    switch event {
    case .join, .joinAgain: return flight.join(newWaiter(), copy: copy)
    case .leave:
      guard let id = waiting.keys.sorted().randomElement(using: &random) else { return [] }
      waiting[id] = nil
      return flight.leave(id)
    case .waitedEnough:
      let callers = waiting.filter { $0.value == .caller }
      guard let id = callers.keys.sorted().randomElement(using: &random) else { return [] }
      return flight.waitedEnough(id, copy: copy)
    case .loaded:
      let language = loading.take() ?? 0
      guard let disk else {
        let answersAll = Bool.random(using: &random)
        return flight.loaded(answers: { _ in answersAll }, copy: copy)
      }
      return flight.loaded {
        Self.language(of: $0) == language && disk[language] != .none
      } copy: {
        copy($0)
      }
    case .succeeded:
      isRequesting = false
      return flight.succeeded()
    case .failed:
      isRequesting = false
      return flight.failed(Bool.random(using: &random) ? .timedOut : .cancelled, copy: copy)
    case .unreachable:
      isRequesting = false
      return flight.unreachable(copy: copy)
    case .reconnected: return flight.reconnected()
    case .restarted:
      let (next, actions) = flight.restarted(id: flight.id + 1, copy: copy)
      flight = next
      (loads, loading, isRequesting) = ([], nil, false)
      return actions
    }
  }

  private mutating func newWaiter() -> FlightMachine.Waiter {
    lastID += 1
    let kinds: [FlightMachine.Waiter.Kind] =
      flight.hasBackgroundWaiter ? [.caller, .stream] : [.caller, .stream, .background]
    let kind = kinds.randomElement(using: &random) ?? .caller
    let policy = FetchPolicy.allCases.randomElement(using: &random) ?? .cacheFirst
    if policy != .cacheOnly { wantsNetwork = true }
    let resource = Self.resource(Int.random(in: Self.languages.indices, using: &random))
    let waiter = FlightMachine.Waiter(
      id: kind == .background ? 0 : lastID, kind: kind, resource: resource, policy: policy)
    waiting[waiter.id] = kind
    return waiter
  }

  /// Does the book-keeping of a shell, and finds what no shell could do.
  private mutating func note(_ actions: [FlightMachine.Action]) {
    var shown: Set<UInt64> = []
    for action in actions {
      switch action {
      case .load(let resource):
        let language = Self.language(of: resource)
        if loading != nil { fault = "a second load at the same time" }
        if !loads.insert(language).inserted { fault = "a second load for the same header fields" }
        loading = language
      case .request:
        if isRequesting { fault = "a second request at the same time" }
        if !wantsNetwork { fault = "a request for cacheOnly" }
        isRequesting = true
      // A stream that is shown a copy may stay, or fail behind it.
      case .use(let waiter) where waiter.kind == .stream: shown.insert(waiter.id)
      case .fail(let waiter, _) where isOnDisk(for: waiter):
        fault = "waiter \(waiter.id) fails, and what it may use is on disk"
      case .useStale(let waiter) where waiter.kind != .caller: fault = "waiter \(waiter.id) is no caller"
      case .use(let waiter), .useStale(let waiter), .fail(let waiter, _): resolve(waiter)
      case .end: break
      }
    }
    for id in shown where !flight.waiters.contains(id) { waiting[id] = nil }
    // A caller that is content with a stale copy leaves the layer in its place.
    if flight.hasBackgroundWaiter { waiting[0] = .background }
  }

  /// Returns true if persistence has a copy that the waiter's policy accepts.
  private func isOnDisk(for waiter: FlightMachine.Waiter) -> Bool {
    guard let disk, waiter.policy.asksStoreFirst else { return false }
    return !FetchDecision(waiter.policy, disk[Self.language(of: waiter.resource)].status).needsFlight
  }

  private mutating func resolve(_ waiter: FlightMachine.Waiter) {
    // The layer may have come and gone within one step.
    if waiting[waiter.id] == nil, waiter.kind != .background { fault = "waiter \(waiter.id) is resolved twice" }
    waiting[waiter.id] = nil
  }

  private func brokenInvariant(_ actions: [FlightMachine.Action]) -> String? {
    let texts = actions.map(\.text)
    let ends = texts.count { $0 == "end" }
    if flight.waiters.inOrder.map(\.id).sorted() != waiting.keys.sorted() {
      return "somebody was forgotten or is kept: \(waiting.keys.sorted()) should wait"
    }
    if waiting.isEmpty {
      if ends != 1 || texts.last != "end" { return "an empty flight does not end once" }
      if texts.contains("load") || texts.contains("request") { return "an empty flight starts something" }
      return nil
    }
    if ends > 0 { return "it ends though somebody waits" }
    if flight.isPaused, isRequesting { return "it is paused while a request is under way" }
    if loading == nil, !isRequesting {
      if !flight.isPaused { return "somebody waits and nothing is under way" }
      if waiting.values.contains(where: { $0 != .stream }) { return "somebody but a stream is paused" }
    }
    return nil
  }

  private mutating func beginAnew() {
    flight = FlightMachine(id: flight.id + 1)
    (loads, loading, isRequesting, wantsNetwork) = ([], nil, false, false)
    story.append("—")
  }
}
