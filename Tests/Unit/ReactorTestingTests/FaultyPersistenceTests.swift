import Foundation
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@Suite struct `Faulty persistence` {
  private let key = RecordKey.sample()
  private let persistence = FaultyPersistence()
  private struct Fault: Error, Equatable { var number: Int }

  @Test func `faults happen in order, one per call, and only to their operation`() async throws {
    persistence.fail(.load, with: Fault(number: 1))
    persistence.fail(.load, with: Fault(number: 2))
    try await persistence.save(.sample(key), for: key)
    await #expect(throws: Fault(number: 1)) { try await persistence.load(key) }
    await #expect(throws: Fault(number: 2)) { try await persistence.load(key) }
    #expect(try await persistence.load(key) == .sample(key))
    #expect(persistence.calls(.load) == 3 && persistence.calls(.save) == 1 && persistence.calls(.remove) == 0)
  }

  @Test func `every operation can be made to fail until failAlways is reset`() async throws {
    for operation in FaultyPersistence.Operation.allCases {
      persistence.failAlways(operation, with: Fault(number: 0))
      for _ in 0..<2 { await #expect(throws: Fault(number: 0)) { try await call(operation) } }
      persistence.failAlways(operation, with: nil)
      try await call(operation)
    }
  }

  @Test func `a failed save did nothing, unless only its acknowledgement is lost`() async throws {
    persistence.fail(.save, with: Fault(number: 1))
    await #expect(throws: Fault.self) { try await persistence.save(.sample(key), for: key) }
    #expect(try await persistence.load(key) == nil)
    persistence.fail(.save, with: Fault(number: 2), afterwards: true)
    await #expect(throws: Fault.self) { try await persistence.save(.sample(key), for: key) }
    #expect(try await persistence.load(key) == .sample(key))
  }

  @Test func `a held save waits for its gate, also when it is cancelled`() async throws {
    let gate = persistence.hold(.save)
    let save = Task { try await persistence.save(.sample(key), for: key) }
    try await gate.reached()
    save.cancel()
    #expect(try await persistence.load(key) == nil)
    gate.open()
    try await save.value
    #expect(try await persistence.load(key) == .sample(key))
  }

  @Test func `a held load ends when it is cancelled`() async throws {
    let gate = persistence.hold(.load)
    let load = Task { try await persistence.load(key) }
    try await gate.reached()
    load.cancel()
    await #expect(throws: CancellationError.self) { try await load.value }
  }

  @Test func `a wait for a call that never comes can be cancelled`() async throws {
    let gate = persistence.hold(.load)
    let wait = Task { try await gate.reached() }
    wait.cancel()
    await #expect(throws: CancellationError.self) { try await wait.value }
    #expect(!gate.isReached)
  }

  @Test func `a gate that is open already blocks no call`() async throws {
    let gate = persistence.hold(.remove)
    gate.open()
    try await persistence.remove(key)
    #expect(gate.isReached)
  }

  @Test func `a crash loses what was not acknowledged, and nothing else`() async throws {
    let (first, second) = (RecordKey.sample("1"), RecordKey.sample("2"))
    try await persistence.save(.sample(first), for: first)
    let gate = persistence.hold(.save)
    let save = Task { try await persistence.save(.sample(second), for: second) }
    try await gate.reached()
    persistence.crash()
    await #expect(throws: FaultyPersistence.Crashed.self) { try await save.value }
    #expect(try await persistence.load(first) == .sample(first))
    #expect(try await persistence.load(second) == nil)
  }

  private func call(_ operation: FaultyPersistence.Operation) async throws {
    switch operation {
    case .load: _ = try await persistence.load(key)
    case .save: try await persistence.save(.sample(key), for: key)
    case .remove: try await persistence.remove(key)
    case .removeAll: try await persistence.removeAll(in: nil)
    case .entries: _ = try await persistence.entries(in: nil, url: nil)
    }
  }
}
