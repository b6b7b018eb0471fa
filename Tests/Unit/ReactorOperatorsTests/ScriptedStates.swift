import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport

/// States as the test sends them. Each iteration begins again; two of the same name are equal.
struct ScriptedStates<Value: Sendable>: AsyncSequence, Sendable, Equatable {
  typealias Element = LoadState<Value>
  typealias Failure = Never

  private struct Open {
    var count = 0
    var isOpen = 0
    var mostOpen = 0
    var continuation: AsyncStream<Element>.Continuation?
    var begun: [Int: Latch] = [:]
    var over: [Int: Latch] = [:]
  }

  let name: String
  private let open = Shared(Open())
  private let late: (gate: Gate, state: Element)?
  private let endless: Element?

  /// - Parameters:
  ///   - late: what an iteration gives after it was cancelled, once the gate is open.
  ///   - endless: what an iteration gives again and again, cancelled or not.
  init(_ name: String = "", late: (gate: Gate, state: Element)? = nil, endless: Element? = nil) {
    self.name = name
    self.late = late
    self.endless = endless
  }

  static func == (a: Self, b: Self) -> Bool { a.name == b.name }

  /// The number of iterations that have begun.
  var count: Int { open.value.count }
  var openCount: Int { open.value.isOpen }
  var mostOpen: Int { open.value.mostOpen }

  /// Open once iteration `number`, from 1, has begun.
  func begun(_ number: Int = 1) -> Latch { open.change { $0.begun.latch(number) } }
  /// Open once nothing is left of iteration `number`.
  func over(_ number: Int = 1) -> Latch { open.change { $0.over.latch(number) } }

  /// Sends to the latest iteration.
  func send(_ states: Element...) {
    let continuation = open.value.continuation
    for state in states { continuation?.yield(state) }
  }

  func finish() { open.value.continuation?.finish() }

  func makeAsyncIterator() -> Iterator {
    let (stream, continuation) = AsyncStream.makeStream(of: Element.self)
    let (begun, over) = open.change { open in
      open.count += 1
      open.isOpen += 1
      open.mostOpen = Swift.max(open.mostOpen, open.isOpen)
      open.continuation = continuation
      return (open.begun.latch(open.count), open.over.latch(open.count))
    }
    begun.open()
    let token = Token { [open] in
      open.change { $0.isOpen -= 1 }
      over.open()
    }
    return Iterator(stream: stream.makeAsyncIterator(), late: late, endless: endless, token: token)
  }

  struct Iterator: AsyncIteratorProtocol {
    var stream: AsyncStream<Element>.Iterator
    var late: (gate: Gate, state: Element)?
    let endless: Element?
    let token: Token

    mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      if let endless { return endless }
      if let state = await stream.next(isolation: actor) { return state }
      guard Task.isCancelled, let (gate, state) = late.take() else { return nil }
      await gate.waitIgnoringCancellation()
      return state
    }
  }
}

/// Says when it ends.
final class Token: Sendable {
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  deinit { body() }
}

extension [Int: Latch] {
  fileprivate mutating func latch(_ number: Int) -> Latch {
    let latch = self[number] ?? Latch()
    self[number] = latch
    return latch
  }
}

extension LoadState {
  /// A loaded state whose value came with it.
  static func loaded(_ value: Value, _ revision: UInt64) -> LoadState {
    LoadState(value: value, revision: revision, valueRevision: revision)
  }
}
