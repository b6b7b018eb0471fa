import ReactorCore
import Synchronization
import Testing

@testable import ReactorConformance
@testable import ReactorTesting

@Suite(.timeLimit(.minutes(5))) struct `The suite of every reachability` {
  @Test(arguments: [true, false]) func `scripted reachability passes`(isReachable: Bool) async throws {
    let reachability = ScriptedReachability(isReachable)
    await ReachabilityConformance(reachability) { $0.set($1) }.run()
    try await reachability.waitUntilNobodyListens()
  }

  @Test func `the system's passes, where nothing changes`() async {
    await ReachabilityConformance(Backend.SystemReachability()).run()
  }

  @Test func `streams that never change pass`() async {
    await ReachabilityConformance(.always).run()
    await ReachabilityConformance(.never).run()
  }

  @Test(arguments: BrokenReachability.Fault.allCases)
  func `a broken promise is found`(fault: BrokenReachability.Fault) async {
    var suite = ReachabilityConformance(BrokenReachability(fault)) { $0.set($1) }
    suite.patience = .milliseconds(100)
    let issues = Mutex<[String]>([])
    await withKnownIssue { [suite] in
      await suite.run()
    } matching: { issue in
      issues.withLock { $0.append("\(issue)") }
      return true
    }
    #expect(issues.withLock { $0 }.contains { $0.contains(fault.rawValue) }, "\(issues.withLock { $0 })")
  }
}

/// Keeps the contract but for one thing.
final class BrokenReachability: Reachability {
  /// Named by the check that finds it.
  enum Fault: String, CaseIterable {
    case tellsTheWrongValueFirst = "first yields the current value"
    case repeats = "every change once"
    case isStuck = "isReachable agrees"
    case tellsOneStreamOnly = "every open stream yields every change"
    case beginsWithTheFirstValueEver = "a stream that is opened after a change"
    case endsAllWithOne = "the release of a stream does not stop another"
  }

  private struct State {
    var isReachable = true
    var listeners: [AsyncStream<Bool>.Continuation] = []
  }

  private let fault: Fault
  private let state = Mutex(State())

  init(_ fault: Fault) { self.fault = fault }

  var isReachable: Bool { state.withLock { fault == .isStuck ? true : $0.isReachable } }

  func set(_ isReachable: Bool) {
    state.withLock { state in
      guard state.isReachable != isReachable || fault == .repeats else { return }
      state.isReachable = isReachable
      // At least one is new in each check that has its own stream.
      let told = fault == .tellsOneStreamOnly ? state.listeners.suffix(1) : state.listeners[...]
      for listener in told { listener.yield(isReachable) }
    }
  }

  var changes: AsyncStream<Bool> {
    let (stream, continuation) = AsyncStream.makeStream(of: Bool.self)
    state.withLock { state in
      state.listeners.append(continuation)
      let first = fault == .beginsWithTheFirstValueEver ? true : state.isReachable
      continuation.yield(fault == .tellsTheWrongValueFirst ? !first : first)
    }
    if fault == .endsAllWithOne {
      continuation.onTermination = { [weak self] _ in
        let all = self?.state.withLock { state in
          defer { state.listeners = [] }
          return state.listeners
        }
        for listener in all ?? [] { listener.finish() }
      }
    }
    return stream
  }
}
