import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorCore

/// Owners that come, nest, join, leave and are cancelled in an order left to chance, held against
/// what must always be so.
@Suite(.timeLimit(.minutes(5))) struct `A key's gate, in any order` {
  @Test func `the gate admits no stranger, forgets no waiter, and fails only waiters in a deadlock`() {
    let seed = Chance.seed("key gates in any order")
    for round in 0..<UInt64(Chance.count("REACTOR_WALKS", default: 400)) {
      var walk = Walk(seed: seed &+ round)
      if let fault = walk.run() {
        Issue.record("seed \(seed &+ round): \(fault)")
        return
      }
    }
  }
}

/// One program: workers that hold keys inside of each other, some of which work for others.
private struct Walk {
  /// A task: a chain of nested visits, the last of which may be queued.
  private final class Worker {
    /// The owner that its outermost visit works for; joining owners wait for this one.
    let root: LockOwner
    var inside: [Visit] = []
    var queued: LockWaiter?
    /// The worker whose end it awaits.
    var joined: Worker?
    var wait: LockOwner.Wait?
    var isOver = false

    init(_ root: LockOwner) { self.root = root }

    var current: LockOwner { inside.last?.owner ?? root }
    var isBusy: Bool { queued != nil || joined != nil }
  }

  private struct Visit {
    let gate: Int
    let key: RecordKey?
    let owner: LockOwner
    /// The owners that awaited it when it came in.
    let family: Set<ObjectIdentifier>

    init(_ gate: Int, _ key: RecordKey?, _ owner: LockOwner) {
      (self.gate, self.key, self.owner) = (gate, key, owner)
      family = owner.family.members
    }

    func awaited(_ other: Visit) -> Bool { other.family.contains(ObjectIdentifier(owner)) }
  }

  private var random: SeededGenerator
  private var table = KeyedAsyncLockTable()
  private let gates = [KeyedAsyncLock(), KeyedAsyncLock()].map { ($0, ObjectIdentifier($0)) }
  private let keys = (0..<3).map { RecordKey(method: .get, url: "https://api.example.com/\($0)") }
  private var workers: [Worker] = []
  private var fault: String?

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  mutating func run() -> String? {
    for _ in 0..<60 {
      step()
      check()
      if let fault { return fault }
    }
    // Every worker that can end does. Then none may be left.
    while let worker = workers.first(where: { !$0.isBusy }) {
      end(worker)
      check()
      if let fault { return fault }
    }
    return workers.isEmpty ? nil : "\(workers.count) wait for ever"
  }

  private mutating func step() {
    let idle = workers.filter { !$0.isBusy }
    switch Int.random(in: 0..<11, using: &random) {
    case 0...1 where workers.count < 6: workers.append(Worker(LockOwner()))
    case 0...5: if let worker = idle.randomElement(using: &random) { visit(worker) }
    case 6: if let worker = idle.randomElement(using: &random) { join(worker) }
    case 7: if let waiter = workers.compactMap(\.queued).randomElement(using: &random) { settle(table.cancel(waiter)) }
    case 8: if let worker = workers.filter({ $0.joined != nil }).randomElement(using: &random) { giveUp(worker) }
    default: if let worker = idle.randomElement(using: &random) { leave(worker) }
    }
  }

  private mutating func visit(_ worker: Worker) {
    let gate = Int.random(in: 0..<2, using: &random)
    let key = Int.random(in: 0..<6, using: &random) == 0 ? nil : keys.randomElement(using: &random)
    let owner = LockOwner(LockOwner.Wait(worker.current))
    if table.enter(gates[gate].1, key, owner) { return worker.inside.append(Visit(gate, key, owner)) }
    let waiter = LockWaiter(gate: gates[gate].1, key: key, owner: owner)
    worker.queued = waiter
    settle(table.wait(waiter))
  }

  /// One awaits the end of another, as a step that fetches awaits a flight.
  private mutating func join(_ worker: Worker) {
    guard !worker.inside.isEmpty, let other = workers.filter({ $0 !== worker }).randomElement(using: &random),
      !worker.current.family.members.contains(ObjectIdentifier(other.root))
    else { return }
    let wait = LockOwner.Wait(worker.current)
    (worker.joined, worker.wait) = (other, wait)
    other.root.add(wait)
    settle(table.gained(other.root))
  }

  private mutating func leave(_ worker: Worker) {
    guard let visit = worker.inside.popLast() else { return end(worker) }
    settle(table.leave(gates[visit.gate].1, visit.key, visit.owner))
  }

  private mutating func end(_ worker: Worker) {
    while let visit = worker.inside.popLast() {
      settle(table.leave(gates[visit.gate].1, visit.key, visit.owner))
    }
    workers.removeAll { $0 === worker }
    for other in workers where other.joined === worker { giveUp(other) }
  }

  /// One awaits another no longer: that has ended, or continues for others.
  private func giveUp(_ worker: Worker) {
    worker.joined = nil
    worker.wait?.end()
  }

  private mutating func settle(_ ends: [LockWaiter.End]) {
    for (waiter, result) in ends {
      guard let worker = workers.first(where: { $0.queued === waiter }) else {
        fault = "somebody was let in who did not wait"
        continue
      }
      let gate = gates.firstIndex { $0.1 == waiter.gate } ?? 0
      if case .failure(let error) = result, error is ReactorError, !wouldNeverEnd(worker) {
        fault = "a wait was refused that could end"
      }
      worker.queued = nil
      if case .success = result { worker.inside.append(Visit(gate, waiter.key, waiter.owner)) }
    }
  }

  /// Found by brute force: follows who waits for whom until nothing new is found.
  private func wouldNeverEnd(_ worker: Worker) -> Bool {
    var found: [Worker] = []
    var open = awaited(by: worker)
    while let next = open.popLast() {
      if next === worker { return true }
      guard !found.contains(where: { $0 === next }) else { continue }
      found.append(next)
      open += awaited(by: next)
    }
    return false
  }

  private func awaited(by worker: Worker) -> [Worker] {
    guard let waiter = worker.queued else { return [worker.joined].compactMap(\.self) }
    let family = waiter.owner.family.members
    return workers.filter { other in
      other.inside.contains { visit in
        gates[visit.gate].1 == waiter.gate && (visit.key == nil || waiter.key == nil || visit.key == waiter.key)
          && !family.contains(ObjectIdentifier(visit.owner))
      }
    }
  }

  private mutating func check() {
    for worker in workers {
      for visit in worker.inside {
        for other in workers where other !== worker {
          for beside in other.inside where beside.gate == visit.gate && overlap(visit.key, beside.key) {
            if !visit.awaited(beside), !beside.awaited(visit) { fault = "two strangers are inside together" }
          }
        }
      }
      if worker.queued != nil, awaited(by: worker).isEmpty, !isHeldUp(worker) { fault = "somebody waits for nobody" }
      if wouldNeverEnd(worker) { fault = "somebody waits for ever" }
    }
  }

  private func overlap(_ one: RecordKey?, _ other: RecordKey?) -> Bool { one == nil || other == nil || one == other }

  /// An owner that holds nothing may queue behind waiting owners.
  private func isHeldUp(_ worker: Worker) -> Bool {
    guard let waiter = worker.queued, !waiter.owner.family.isInside else { return false }
    return workers.contains { $0 !== worker && $0.queued?.gate == waiter.gate }
  }
}
