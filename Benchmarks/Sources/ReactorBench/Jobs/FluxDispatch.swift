import ReactorFlux

/// The cost of a dispatch with 1 and with 20 stores. An app pays it for each action.
///
/// The limit is a dictionary of closures by name. ``Rivals`` has the shape of ReSwift.
enum FluxDispatch: Benchmark {
  static let name = "flux-dispatch"
  static let question = "a dispatch to 1 and to 20 stores"

  static func measure(_ bench: Bench) async throws {
    for stores in [1, 20] {
      let world = try await FluxWorld(stores: stores)
      let word = stores == 1 ? "store" : "stores"
      try await bench.compare(
        "dispatch to \(stores) \(word)", to: "a dictionary of closures", target: .ratio(2.5),
        job: { await world.dispatch($0, tells: false) }, limit: { await world.dispatchPlainly($0) })
    }
  }

  static func grow(_ growth: Growth) async throws {
    try await growth.curve("dispatch", of: "stores", expected: 1, sizes: [1, 2, 5, 10, 20]) { size in
      let world = try await FluxWorld(stores: size)
      return { await world.dispatch($0, tells: false) }
    }
  }
}

/// A dispatcher with so many stores, and the same in two other shapes.
@MainActor final class FluxWorld {
  private let owner = Counter()
  private let dispatcher = Dispatcher()
  private let plain = PlainDictionary()
  private let reSwift: ReSwiftShaped
  private let subscribers: [Counter]

  init(stores: Int) throws {
    let counters = (0..<stores).map { _ in Counter() }
    for counter in counters { plain.on("added") { payload in counter.count += payload as? Int ?? 0 } }
    reSwift = ReSwiftShaped(stores: stores)
    subscribers = (0..<stores).map { _ in Counter() }
    for subscriber in subscribers {
      reSwift.subscribe(subscriber) { [unowned subscriber] _, _ in subscriber.count += 1 }
    }
    for type in storeTypes.prefix(stores) { try register(type) }
  }

  func dispatch(_ count: Int, tells: Bool) {
    tellsChanges = tells
    for _ in 0..<count { dispatcher.dispatch(.added, 1) }
  }

  func dispatchPlainly(_ count: Int) {
    for _ in 0..<count { plain.dispatch("added", 1) }
  }

  func dispatchAsReSwift(_ count: Int) {
    for _ in 0..<count { reSwift.dispatch(ReSwiftShaped.Add(amount: 1)) }
  }

  private func register<S: Counting>(_ type: S.Type) throws {
    try dispatcher.register(type)
    try dispatcher.store(type).observe(owner) { owner, _, _ in owner.count += 1 }
  }
}
