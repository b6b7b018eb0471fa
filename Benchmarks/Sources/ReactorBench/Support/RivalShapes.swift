import Foundation

// The shapes in which three libraries have published how they read and notify. None of them can be
// resolved here, so each is written again with the same structures and the same steps, and without
// code that the measured call does not run.

/// The shape of Nuke's memory cache: a lock, a dictionary of nodes, and a list in the order of use
/// in which a hit moves to the end.
final class NukeShaped<Value> {
  struct Key: Hashable {
    var id: String
    var scale: Float = 1
  }

  private final class Node {
    let value: Value
    let expiration: Date?
    var next: Node?
    var previous: Node?

    init(_ value: Value, _ expiration: Date?) {
      self.value = value
      self.expiration = expiration
    }
  }

  private let lock = NSLock()
  private var map: [Key: Node] = [:]
  private var first: Node?
  private var last: Node?

  deinit {
    // The nodes retain each other.
    while let node = first { remove(node) }
  }

  /// Adds a value without a time to live, which is Nuke's default.
  func set(_ value: Value, for key: Key) {
    lock.withLock {
      let node = Node(value, nil)
      append(node)
      map[key] = node
    }
  }

  func value(for key: Key) -> Value? {
    lock.lock()
    defer { lock.unlock() }
    guard let node = map[key] else { return nil }
    if let expiration = node.expiration, expiration.timeIntervalSinceNow < 0 {
      remove(node)
      map[key] = nil
      return nil
    }
    remove(node)
    append(node)
    return node.value
  }

  private func append(_ node: Node) {
    if let last {
      last.next = node
      node.previous = last
      self.last = node
    } else {
      (first, last) = (node, node)
    }
  }

  private func remove(_ node: Node) {
    node.next?.previous = node.previous
    node.previous?.next = node.next
    if node === last { last = node.previous }
    if node === first { first = node.next }
    node.next = nil
    node.previous = nil
  }
}

/// The shape of ReactiveSwift's `MutableProperty` and its `Signal`: a lock around the value, a lock
/// around sending, and a bag of observers that is replaced as a whole.
final class ReactiveSwiftShaped<Value> {
  enum Event {
    case value(Value)
    case completed
  }

  private final class Observer {
    let action: (Event) -> Void

    init(_ action: @escaping (Event) -> Void) { self.action = action }
  }

  private final class Alive {
    let observers: ContiguousArray<Observer>

    init(_ observers: ContiguousArray<Observer>) { self.observers = observers }
  }

  private let valueLock = NSRecursiveLock()
  private let updateLock = NSLock()
  private let sendLock = NSLock()
  private var alive = Alive([])
  private var current: Value

  init(_ value: Value) { current = value }

  func observeValues(_ action: @escaping (Value) -> Void) {
    let observer = Observer { event in if case .value(let value) = event { action(value) } }
    updateLock.withLock { alive = Alive(alive.observers + [observer]) }
  }

  func set(_ value: Value) {
    valueLock.lock()
    defer { valueLock.unlock() }
    current = value
    sendLock.lock()
    updateLock.lock()
    let alive = alive
    updateLock.unlock()
    for observer in alive.observers { observer.action(.value(value)) }
    sendLock.unlock()
  }
}

/// The shape of TanStack Query: queries by the JSON of their key, with a state that each action
/// replaces, and observers that are notified in a microtask after the change. JavaScript has one
/// thread, which is the main actor here.
@MainActor final class TanStackShaped {
  enum KeyPart: Sendable {
    case text(String)
    case number(Int)
  }

  struct State {
    var data: (any Sendable)?
    var dataUpdateCount = 0
    var dataUpdatedAt = Date.distantPast
    var error: (any Error)?
    var isInvalidated = false
    var isFetching = false
  }

  final class Query {
    var state = State()
    var observers: [(State) -> Void] = []

    func isStale(after staleTime: TimeInterval) -> Bool {
      state.isInvalidated || state.data == nil || state.dataUpdatedAt.timeIntervalSinceNow < -staleTime
    }
  }

  private var queries: [String: Query] = [:]

  /// The key as `JSON.stringify` writes it.
  static func hash(_ key: [KeyPart]) -> String {
    var text = "["
    for (index, part) in key.enumerated() {
      if index > 0 { text += "," }
      switch part {
      case .text(let part): text += "\"\(part)\""
      case .number(let number): text += "\(number)"
      }
    }
    return text + "]"
  }

  private func build(_ key: [KeyPart]) -> Query {
    let hash = Self.hash(key)
    if let query = queries[hash] { return query }
    let query = Query()
    queries[hash] = query
    return query
  }

  func fetch<Value: Sendable>(
    _ key: [KeyPart], staleTime: TimeInterval, _ request: () async throws -> Value
  ) async throws -> Value? {
    let query = build(key)
    guard query.isStale(after: staleTime) else { return query.state.data as? Value }
    let value = try await request()
    set(value, in: query)
    return value
  }

  func observe(_ key: [KeyPart], _ observer: @escaping (State) -> Void) { build(key).observers.append(observer) }

  func set(_ data: some Sendable, for key: [KeyPart]) { set(data, in: build(key)) }

  /// Replaces the state, and notifies the observers once the caller has returned.
  private func set(_ data: some Sendable, in query: Query) {
    var state = query.state
    state.data = data
    state.dataUpdateCount += 1
    state.dataUpdatedAt = .now
    (state.error, state.isInvalidated, state.isFetching) = (nil, false, false)
    query.state = state
    let queue = query.observers.map { observer in { observer(state) } }
    Task { for callback in queue { callback() } }
  }
}
