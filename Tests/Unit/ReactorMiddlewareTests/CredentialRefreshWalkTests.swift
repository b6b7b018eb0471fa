import ReactorTesting
import TestSupport
import Testing

@testable import ReactorMiddleware

/// Random walks through the state machine: in any order of events, no request waits for ever or is
/// resumed twice, and a signed-out credential is never used again.
@Suite struct `Any walk of a credential's refresh` {
  private typealias Machine = CredentialRefresh<Int>

  private struct Walk {
    var machine = Machine(0)
    /// A request that has looked, and has not been refused yet.
    var requests: [Machine.Look] = []
    var waiting: Set<Machine.WaiterID> = []
    /// Refreshes that still run, by number. A cancelled refresh may go on to its end.
    var running: [UInt64] = []
    var current: UInt64?
    var isSignedOut = false
    /// Credentials from before the latest sign-out.
    var gone: Set<Int> = []
    /// The credentials that signed requests.
    var used: [Machine.Held] = []
    /// The latest refresh that has failed, and the version that it was for.
    var failure: (number: UInt64, version: UInt64)?
    var lastID: Machine.WaiterID = 0
    var lastCredential = 0
    var faults: [String] = []

    mutating func credential() -> Int {
      lastCredential += 1
      return lastCredential
    }

    mutating func take(_ actions: [Machine.Action], after step: String) {
      for action in actions {
        switch action {
        case .refresh(_, let number):
          if current != nil { faults.append("\(step): a second refresh") }
          if isSignedOut { faults.append("\(step): a refresh after the sign-out") }
          running.append(number)
          current = number
        case .cancelRefresh:
          if current == nil { faults.append("\(step): nothing to cancel") }
          if !step.hasPrefix("sign") { faults.append("\(step): cancels a refresh") }
          current = nil
        case .save(let credential):
          if (credential == nil) != isSignedOut { faults.append("\(step): saves \(String(describing: credential))") }
        case .announce: if isSignedOut { faults.append("\(step): announces that nobody is signed in") }
        case .resume(let ids, let result):
          for id in ids where waiting.remove(id) == nil { faults.append("\(step): \(id) did not wait") }
          if case .success(let held) = result {
            if isSignedOut || gone.contains(held.credential) { faults.append("\(step): \(held.credential) is gone") }
            if !machine.permits(held) { faults.append("\(step): \(held.credential) is not permitted") }
          }
        }
      }
      for held in used where gone.contains(held.credential) && machine.permits(held) {
        faults.append("\(step): \(held.credential) may still be sent")
      }
      if current == nil, !waiting.isEmpty { faults.append("\(step): \(waiting.count) wait for nothing") }
      if isSignedOut, machine.look.held != nil { faults.append("\(step): signed out, and usable") }
      if !isSignedOut, machine.look.held == nil { faults.append("\(step): signed in, and not usable") }
      if machine.look.isRefreshing != (current != nil) { faults.append("\(step): under way, or not") }
    }

    mutating func end(_ result: Result<Int, any Error>, of number: UInt64) {
      if current == number {
        current = nil
        if case .failure = result { failure = (number, machine.look.version) }
      }
      take(machine.ended(result, of: number), after: "end \(number)")
    }

    mutating func step(_ chance: inout SeededGenerator) {
      switch Int.random(in: 0..<13, using: &chance) {
      case 0...2:
        requests.append(machine.look)
        if let held = machine.look.held { used.append(held) }
      case 3...5:
        guard let index = requests.indices.randomElement(using: &chance) else { return }
        let look = requests.remove(at: index)
        lastID += 1
        waiting.insert(lastID)
        let before = current
        take(machine.wait(lastID, refused: look.version, failed: look.failed), after: "wait \(lastID)")
        if before == nil, current != nil, let failure, failure.version == look.version, failure.number > look.failed {
          faults.append("wait \(lastID): a second refresh for what the first has failed for")
        }
      case 6:
        guard let id = waiting.sorted().randomElement(using: &chance) else { return }
        take(machine.leave(id), after: "leave \(id)")
      case 7...9:
        guard let number = running.randomElement(using: &chance) else { return }
        running.removeAll { $0 == number }
        let result: Result<Int, any Error> = Bool.random(using: &chance) ? .success(credential()) : .failure(Broken())
        end(result, of: number)
      case 10:
        guard let look = requests.randomElement(using: &chance) else { return }
        take(machine.refreshEarly(look.version, failed: look.failed), after: "early")
      case 11:
        isSignedOut = false
        take(machine.signIn(credential()), after: "sign in")
      default:
        gone = Set(0...lastCredential)
        isSignedOut = true
        take(machine.signOut(), after: "sign out")
      }
    }
  }

  @Test func `in random orders, each request resumes once, and never with a discarded credential`() {
    var chance = SeededGenerator(seed: Chance.seed("Any walk of a credential's refresh"))
    for round in 0..<500 {
      var walk = Walk()
      for _ in 0..<80 where walk.faults.isEmpty { walk.step(&chance) }
      if let number = walk.current { walk.end(.failure(Broken()), of: number) }
      #expect(walk.faults.isEmpty, "round \(round)")
      #expect(walk.waiting.isEmpty, "round \(round)")
    }
  }
}
