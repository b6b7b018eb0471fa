import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox
import ReactorTesting
import Synchronization

/// A store that is read at each start, as a durable one is, and that fails when it is told to.
final class MemoryStore: OutboxStorage {
  private let store: MemoryOutboxStorage
  let failure = Atomic<Bool>(false)
  /// The number of times that all entries can be read; after that, reading them fails.
  let readsLeft = Atomic<Int>(.max)
  /// Everything but the removal of everything works.
  let failsToRemove = Atomic<Bool>(false)
  /// Each entry is read twice.
  let repeatsEntries = Atomic<Bool>(false)
  /// The parts of the store that were set aside.
  let setAside = Mutex<[String]>([])
  /// The number of leases that are granted or renewed; after that, one fails.
  let claimsLeft = Atomic<Int>(.max)
  /// The point at which a lease waits before it is given back.
  let releases = Gate(isOpen: true)
  /// The point at which a lease waits before it is taken.
  let claims = Gate(isOpen: true)
  /// The point at which changes wait before they are saved.
  let commits = Gate(isOpen: true)
  /// The point at which the contents wait after they are read.
  let reads = Gate(isOpen: true)
  /// The point at which the removal of everything waits.
  let removals = Gate(isOpen: true)

  init(_ store: MemoryOutboxStorage = MemoryOutboxStorage()) { self.store = store }

  /// The same store, as another process has it.
  func reopened() -> MemoryStore {
    let reopened = MemoryStore(store)
    reopened.repeatsEntries.store(repeatsEntries.load(ordering: .relaxed), ordering: .relaxed)
    return reopened
  }

  private func check() throws {
    if failure.load(ordering: .relaxed) { throw CocoaError(.fileWriteOutOfSpace) }
  }

  func contents(of scope: Scope) async throws -> OutboxContents {
    if readsLeft.wrappingSubtract(1, ordering: .relaxed).oldValue <= 0 { throw CocoaError(.fileReadUnknown) }
    var contents = try await store.contents(of: scope)
    if repeatsEntries.load(ordering: .relaxed) { contents.entries += contents.entries }
    contents.setAside = setAside.withLock(\.self)
    await reads.waitIgnoringCancellation()
    return contents
  }

  func commit(_ changes: [OutboxChange], in scope: Scope) async throws -> [UInt64] {
    try check()
    await commits.waitIgnoringCancellation()
    return try await store.commit(changes, in: scope)
  }

  func claim(_ id: UUID, in scope: Scope, by process: UUID, now: Date, until: Date) async throws -> StoredEntry? {
    try check()
    if claimsLeft.wrappingSubtract(1, ordering: .relaxed).oldValue == 0 { throw CocoaError(.fileReadUnknown) }
    await claims.waitIgnoringCancellation()
    return try await store.claim(id, in: scope, by: process, now: now, until: until)
  }

  func release(_ id: UUID, in scope: Scope, by process: UUID) async throws {
    try check()
    try await releases.wait()
    try await store.release(id, in: scope, by: process)
  }

  func removeAll(in scope: Scope?) async throws {
    await removals.waitIgnoringCancellation()
    if failsToRemove.load(ordering: .relaxed) { throw CocoaError(.fileWriteOutOfSpace) }
    try await store.removeAll(in: scope)
  }

  func removeAll(in scope: Scope, keeping ids: Set<UUID>) async throws {
    await removals.waitIgnoringCancellation()
    if failsToRemove.load(ordering: .relaxed) { throw CocoaError(.fileWriteOutOfSpace) }
    try await store.removeAll(in: scope, keeping: ids)
  }
}

extension Gate {
  /// Closes the gate, and returns the number of arrivals with the next one.
  func closed() -> Int {
    close()
    return arrivalCount + 1
  }
}

/// A server with one list, whose entity tag grows with each version.
final class PutHandler: Sendable {
  struct Put: Sendable {
    var body: String
    var match: String?
  }

  private struct State {
    var answers: [ScriptedTransport.Answer]
    var puts: [Put] = []
    var version = 1
  }

  private let state: Mutex<State>

  init(_ answers: [ScriptedTransport.Answer]) { state = Mutex(State(answers: answers)) }

  var puts: [Put] { state.withLock(\.puts) }

  @Sendable func answer(_ request: HTTPRequest, _ body: Data?) async throws -> ScriptedTransport.Answer {
    state.withLock { state in
      guard request.method == .put else {
        let list = state.version == 1 ? ["a"] : ["a", "x"]
        return Writer.answer(list, [.cacheControl: "max-age=600", .eTag: "\"\(state.version)\""])
      }
      state.puts.append(
        Put(body: body.map { String(decoding: $0, as: UTF8.self) } ?? "", match: request.headerFields[.ifMatch]))
      state.version += 1
      return state.answers.isEmpty ? .response(.noContent) : state.answers.removeFirst()
    }
  }
}
