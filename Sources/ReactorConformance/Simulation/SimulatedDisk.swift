import Foundation
public import ReactorCore
import ReactorOutbox
import ReactorTesting
import Synchronization

/// A disk that takes time, fails, and outlives the processes that use it.
///
/// ```swift
/// let layer = ModelLayer(
///   baseURL: api, transport: world.network, persistence: world.disk.open())
/// world.disk.crash()  // the layer's calls throw; another `open()` finds what survived
/// ```
///
/// Acknowledged writes survive a crash. A write in flight survives or is lost, as the seed decides.
public final class SimulatedDisk: Sendable {
  /// The error of a failed call, as of a full or broken disk.
  public struct Failed: Error, Hashable {
    package init() {}
  }

  private let platter = MemoryPersistence()
  let outboxPlatter = MemoryOutboxStorage()
  let draws: SeededDraws
  private let clock: TestClock
  let faults: Mutex<SimulatedFaults>
  /// The number of the process that uses the disk. Each crash begins another.
  private let process = Atomic(0)

  init(_ draws: SeededDraws, _ clock: TestClock, _ faults: SimulatedFaults) {
    self.draws = draws
    self.clock = clock
    self.faults = Mutex(faults)
  }

  /// Returns a view of the disk for one process, until that process crashes.
  public func open() -> some Persistence { open(in: nil) }

  /// Returns a view of the disk for a process that may also crash by itself.
  package func open(in process: SimulatedProcess?) -> some Persistence { Handle(disk: self, tenant: tenant(process)) }

  /// Crashes every process that has opened the disk. All its calls, in flight and later, throw
  /// `FaultyPersistence.Crashed`.
  public func crash() { process.add(1, ordering: .relaxed) }

  /// Returns all records on the disk, without latency and faults.
  public func records() async -> [(key: RecordKey, record: Record)] {
    var records: [(key: RecordKey, record: Record)] = []
    for entry in (try? await platter.entries(in: nil, url: nil)) ?? [] {
      if let record = try? await platter.load(entry.key) { records.append((entry.key, record)) }
    }
    return records
  }

  func setFaults(_ new: SimulatedFaults) { faults.withLock { $0 = new } }

  /// A process that has opened the disk.
  struct Tenant: Sendable {
    fileprivate let number: Int
    fileprivate let process: SimulatedProcess?
  }

  func tenant(_ process: SimulatedProcess?) -> Tenant {
    Tenant(number: self.process.load(ordering: .relaxed), process: process)
  }

  func hasCrashed(_ tenant: Tenant) -> Bool {
    process.load(ordering: .relaxed) != tenant.number || tenant.process?.hasCrashed == true
  }

  private struct Handle: Persistence {
    let disk: SimulatedDisk
    let tenant: Tenant

    func load(_ key: RecordKey) async throws -> Record? {
      try await read { try await disk.platter.load(key) }
    }

    func save(_ record: Record, for key: RecordKey) async throws {
      try await write { try await disk.platter.save(record, for: key) }
    }

    func remove(_ key: RecordKey) async throws {
      try await write { try await disk.platter.remove(key) }
    }

    func removeAll(in scope: Scope?) async throws {
      try await write { try await disk.platter.removeAll(in: scope) }
    }

    func entries(in scope: Scope?, url: String?) async throws -> [Record.Entry] {
      try await read { try await disk.platter.entries(in: scope, url: url) }
    }

    /// A constant, so that a seed gives the same run each time.
    func secretKey() -> RecordKey.SecretKey? {
      RecordKey.SecretKey(bytes: repeatElement(0, count: RecordKey.SecretKey.byteCount))
    }

    private var hasCrashed: Bool { disk.hasCrashed(tenant) }

    private func read<Value>(_ body: () async throws -> Value) async throws -> Value {
      try await disk.takeTime()
      guard !hasCrashed else { throw FaultyPersistence.Crashed() }
      guard !disk.draws.chance(disk.faults.withLock(\.loadFailure)) else { throw Failed() }
      return try await body()
    }

    /// Writes. A write in flight ignores cancellation, as in a real store.
    ///
    /// It takes effect before or after its latency, so a crash in between may or may not keep it. A
    /// crashed process writes nothing, since another process may use the disk by then.
    private func write(_ body: () async throws -> Void) async throws {
      guard !hasCrashed else { throw FaultyPersistence.Crashed() }
      let fails = disk.draws.chance(disk.faults.withLock(\.saveFailure))
      let lands = !fails || disk.draws.chance(0.5)
      let landsEarly = disk.draws.chance(0.5)
      if lands, landsEarly { try await body() }
      await disk.takeTimeWhatever()
      guard !hasCrashed else { throw FaultyPersistence.Crashed() }
      if lands, !landsEarly { try await body() }
      if fails { throw Failed() }
    }
  }

  private func takeTime() async throws {
    let latency = faults.withLock(\.diskLatency)
    if latency > .zero { try await clock.sleep(for: draws.duration(upTo: latency)) }
  }

  func takeTimeWhatever() async {
    let deadline = clock.now.advanced(by: draws.duration(upTo: faults.withLock(\.diskLatency)))
    await clock.sleepIgnoringCancellation(until: deadline)
  }
}
