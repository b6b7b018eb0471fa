import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorCore
@testable import ReactorWrites

@Suite(.timeLimit(.minutes(5))) struct `The gate between requests and writes` {
  private let layer: ObjectIdentifier
  private let gate: SendingGate
  private let key = RecordKey(method: .get, url: "https://api.example.com/notes")
  private let other = RecordKey(method: .get, url: "https://api.example.com/others")
  private let executor = SteppedExecutor()
  private let begun = Shared<[Int]>([])
  private let ids = (0..<8).map { _ in UUID() }

  init() {
    layer = ObjectIdentifier(executor)
    gate = SendingGate(of: layer)
  }

  /// Begins the write `index`, as far as it comes.
  private func begin(_ index: Int, _ keys: Set<RecordKey>) {
    Task(executorPreference: executor) { [gate, begun, ids] in
      #expect(await gate.begin(ids[index], keys) == nil)
      begun.change { $0.append(index) }
    }
    executor.run()
  }

  private func end(_ index: Int) {
    gate.end(ids[index])
    executor.run()
  }

  private func release(_ pass: inout SendingGate.Pass?) {
    pass = nil
    executor.run()
  }

  @Test func `a request waits for the writes in flight, and later writes wait for the request`() {
    for index in 0..<4 { begin(index, [key]) }
    #expect(begun.value == [0, 1, 2, 3])
    var pass: SendingGate.Pass? = gate.pass(for: key)
    for index in 4..<8 { begin(index, [key]) }
    #expect(begun.value == [0, 1, 2, 3])
    for index in 0..<4 {
      #expect(!gate.admits(key, hasCaller: true))
      end(index)
    }
    #expect(gate.admits(key, hasCaller: true))
    release(&pass)
    #expect(begun.value == Array(0..<8))
    for index in 4..<8 { end(index) }
    #expect(gate.isIdle)
  }

  @Test func `the gate between requests and writes lets the next write begin once a request has given up`() {
    begin(0, [key])
    var pass: SendingGate.Pass? = gate.pass(for: key)
    begin(1, [key])
    #expect(begun.value == [0])
    release(&pass)
    #expect(begun.value == [0, 1])
    for index in 0..<2 { end(index) }
    #expect(gate.isIdle)
  }

  @Test func `the gate lets no later write overtake a waiting one with a common key`() {
    var pass: SendingGate.Pass? = gate.pass(for: other)
    begin(0, [key, other])
    begin(1, [key])
    #expect(begun.value.isEmpty)
    release(&pass)
    #expect(begun.value == [0, 1])
    for index in 0..<2 { end(index) }
    #expect(gate.isIdle)
  }

  /// A request of `key` that awaits work of an owner, and the keys of the circle if that wait was
  /// refused.
  private func awaiting(_ owner: LockOwner) -> Shared<[RecordKey]?> {
    let refused = Shared<[RecordKey]?>(nil)
    let flight = LockOwner([], flight: LockOwner.LayerKey(layer: layer, key: key))
    owner.add(LockOwner.Wait(flight) { keys in refused.change { $0 = keys } })
    return refused
  }

  @Test func `a request fails that would wait for writes that wait for it`() {
    let owner = LockOwner()
    let refused = awaiting(owner)
    let pass = gate.pass(for: key)
    gate.refuseWaits(for: owner, behind: [[key], [key, other]])
    #expect(refused.value == [key])
    withExtendedLifetime(pass) {}
  }

  @Test func `a request without a pass waits for the writes and starts again`() {
    let owner = LockOwner()
    let refused = awaiting(owner)
    gate.refuseWaits(for: owner, behind: [[key]])
    #expect(refused.value == nil)
    // The pass of another key holds nothing of this one back.
    let pass = gate.pass(for: other)
    gate.refuseWaits(for: owner, behind: [[key, other]])
    #expect(refused.value == nil)
    withExtendedLifetime(pass) {}
  }

  @Test func `a request waits behind writes of which one waits for nothing`() {
    let owner = LockOwner()
    let refused = awaiting(owner)
    let pass = gate.pass(for: key)
    gate.refuseWaits(for: owner, behind: [[key], [other]])
    #expect(refused.value == nil)
    gate.refuseWaits(for: owner, behind: [[key], []])
    #expect(refused.value == nil)
    withExtendedLifetime(pass) {}
  }
}
