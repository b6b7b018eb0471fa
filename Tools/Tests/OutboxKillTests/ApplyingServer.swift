import Foundation
import HTTPTypes
import ReactorTesting
import Synchronization

/// A server that applies requests, and remembers the answer to each idempotency key.
///
/// It refuses some, asks some to come later, delays some, and breaks the connection before or after
/// it has applied some. The target of a request is `/<lane>/<number>`.
final class ApplyingServer: Sendable {
  /// A request that was applied.
  struct Applied: Sendable {
    let lane: String
    let number: Int
  }

  private struct State {
    var generator: SeededGenerator
    /// The status that each key was answered with.
    var answered: [String: Int] = [:]
    /// The keys whose first request is being processed.
    var underWay: Set<String> = []
    /// The bytes under each key.
    var contents: [String: Data] = [:]
    var applied: [Applied] = []
    /// The number of requests of each target.
    var counts: [String: Int] = [:]
    var faults: [String] = []

    /// After some attempts, everything works, so that no backoff becomes long.
    func isPatient(_ target: String) -> Bool { counts[target, default: 0] > 3 }
  }

  /// The treatment of a request that no answer is remembered for.
  private enum Treatment {
    /// Applies the request, after a delay and before another one.
    case apply(before: Double, after: Double, breaks: Bool)
    case refuse
    case later
    case fail
    case breakOff
  }

  private let state: Mutex<State>

  init(seed: UInt64) { state = Mutex(State(generator: SeededGenerator(seed: seed))) }

  /// The applied requests in order.
  var applied: [Applied] { state.withLock(\.applied) }

  /// The breaches of the promise that one key has one payload.
  var faults: [String] { state.withLock(\.faults) }

  func count(of number: Int) -> Int { applied.count { $0.number == number } }

  func respond(to request: MockServer.Request) -> MockServer.Response {
    let parts = request.target.split(separator: "/")
    guard parts.count == 2, let number = Int(parts[1]) else { return .status(404) }
    // The target of a PUT says which one it is.
    let key = request["Idempotency-Key"] ?? (request.method == "PUT" ? request.target : nil)
    state.withLock { $0.counts[request.target, default: 0] += 1 }
    if let key, let known = known(key, request) { return known }
    defer { if let key { state.withLock { _ = $0.underWay.remove(key) } } }
    switch treatment(of: request.target) {
    case .refuse:
      answer(key, 422)
      return .text("refused", status: 422)
    case .later: return .status(503, headers: [.retryAfter: "1"])
    case .fail: return .status(500)
    case .breakOff: return .close
    case .apply(let before, let after, let breaks):
      Thread.sleep(forTimeInterval: before)
      apply(Applied(lane: String(parts[0]), number: number), key)
      Thread.sleep(forTimeInterval: after)
      return breaks ? .reset() : .text("applied", status: 201)
    }
  }

  /// Returns the answer to a key that was used before.
  private func known(_ key: String, _ request: MockServer.Request) -> MockServer.Response? {
    state.withLock { state in
      let content = Data("\(request.requestLine)\n".utf8) + request.body
      if let first = state.contents.updateValue(content, forKey: key), first != content {
        state.faults.append("the key \(key) has two contents")
      }
      if let status = state.answered[key] {
        let breaks = !state.isPatient(request.target) && Int.random(in: 0..<4, using: &state.generator) == 0
        return breaks ? .close : .text("again", status: status)
      }
      return state.underWay.insert(key).inserted ? nil : .status(409)
    }
  }

  private func answer(_ key: String?, _ status: Int) {
    if let key { state.withLock { $0.answered[key] = status } }
  }

  private func apply(_ request: Applied, _ key: String?) {
    state.withLock { state in
      if let key { state.answered[key] = 201 }
      state.applied.append(request)
    }
  }

  private func treatment(of target: String) -> Treatment {
    state.withLock { state in
      guard !state.isPatient(target) else { return .apply(before: 0, after: 0, breaks: false) }
      func delay() -> Double { Double.random(in: 0..<0.06, using: &state.generator) }
      return switch Int.random(in: 0..<100, using: &state.generator) {
      case 0..<8: .refuse
      case 8..<12: .later
      case 12..<16: .fail
      case 16..<24: .breakOff
      case 24..<40: .apply(before: 0, after: 0, breaks: true)
      case 40..<65: .apply(before: delay(), after: delay(), breaks: false)
      case 65..<70: .apply(before: delay(), after: delay(), breaks: true)
      default: .apply(before: 0, after: 0, breaks: false)
      }
    }
  }
}
