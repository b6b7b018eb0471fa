/// The limit: closures by name, each with a store's state.
@MainActor final class PlainDictionary {
  private var handlers: [String: [(Any) -> Void]] = [:]

  func on(_ name: String, _ body: @escaping (Any) -> Void) { handlers[name, default: []].append(body) }

  func dispatch(_ name: String, _ payload: Any) {
    guard let list = handlers[name] else { return }
    for handler in list { handler(payload) }
  }
}

@MainActor final class Counter {
  var count = 0
}

/// The shape of ReSwift: one reducer over the whole state, which is passed to every subscriber
/// without a comparison; an action is found by its type.
@MainActor final class ReSwiftShaped {
  protocol Action {}
  struct Add: Action {
    let amount: Int
  }

  struct State {
    var counts: [Int]
  }

  private final class Subscription {
    weak let subscriber: AnyObject?
    let newState: (_ old: State?, _ new: State) -> Void

    init(_ subscriber: AnyObject, _ newState: @escaping (State?, State) -> Void) {
      self.subscriber = subscriber
      self.newState = newState
    }
  }

  private var isDispatching = false
  private var subscriptions: [ObjectIdentifier: Subscription] = [:]
  private var dispatchFunction: (any Action) -> Void = { _ in }
  private(set) var state: State {
    didSet {
      for (_, subscription) in subscriptions where subscription.subscriber != nil {
        subscription.newState(oldValue, state)
      }
    }
  }

  init(stores: Int) {
    state = State(counts: Array(repeating: 0, count: stores))
    let middlewares: [(@escaping (any Action) -> Void) -> (any Action) -> Void] = []
    dispatchFunction = middlewares.reversed().reduce({ [unowned self] in self.reduceState($0) }) { $1($0) }
  }

  func subscribe(_ subscriber: AnyObject, _ newState: @escaping (State?, State) -> Void) {
    subscriptions[ObjectIdentifier(subscriber)] = Subscription(subscriber, newState)
  }

  func dispatch(_ action: any Action) { dispatchFunction(action) }

  private func reduceState(_ action: any Action) {
    guard !isDispatching else { return }
    isDispatching = true
    let reduced = Self.reducer(action, state)
    isDispatching = false
    state = reduced
  }

  private static func reducer(_ action: any Action, _ state: State) -> State {
    State(counts: state.counts.map { count in (action as? Add).map { count + $0.amount } ?? count })
  }
}
