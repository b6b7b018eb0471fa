public import Foundation
public import ReactorCore
import Synchronization

/// A mutation that is saved, and will be sent when its turn comes.
///
/// ```swift
/// let submission = try await layer.submit(AddPost(title: "Hello"))
/// let post = try await submission.answer()
/// ```
public struct Submission<Answer: Sendable>: Sendable, Identifiable {
  /// The identity of its entry; see ``Outbox/entries``. `LoadState.drafts` has the same.
  public let id: UUID
  let result: SubmissionResult

  /// Waits until the mutation is finished.
  ///
  /// ```swift
  /// let submission = try await layer.submit(AddPost(title: "Hello"))
  /// let post = try await submission.answer()  // once the server has accepted it
  /// ```
  ///
  /// A cancelled wait throws `ReactorError.cancelled` at once, and withdraws nothing: the
  /// mutation is still sent.
  ///
  /// - Returns: The model of the accepted response.
  /// - Throws: The error of the refusal; `ReactorError.parser` if the server has accepted the
  ///   mutation, and only its response cannot be read; `ReactorError.cancelled` if the mutation
  ///   was withdrawn, discarded or removed, or if its layer was released. In the last case the
  ///   mutation is kept, and sent by the next layer of its scope. `ReactorError.network` with
  ///   ``MutationError/awaitsItsLane(_:)`` in the request of another mutation of its lane, and in
  ///   tasks that this request has created. Detached tasks may await it. In the request of a
  ///   mutation of another lane, it is ``MutationError/awaitsTurn(_:)`` if every lane that sends
  ///   awaits a write of a lane that does not. `ReactorError.deadlock(keys:)` in a step of a fetch
  ///   whose resource the mutation changes, or one before it in its lane: the write goes after the
  ///   fetch. Its mutation is still sent.
  public func answer() async throws(ReactorError) -> Answer {
    var end = result.known
    if end == nil {
      let waited = await result.awaitingTurn { [result] in
        let id = result.nextID()
        defer { result.forget(id) }
        return await KeyedAsyncLock.awaiting(result.turn.owner, refused: { result.refuse(id, .deadlock(keys: $0)) }) {
          result.refuseEndlessWaits()
          return await result.value(for: id)
        }
      }
      guard let waited else { throw .network(MutationError.awaitsTurn(result.turn.lane)) }
      end = waited
    }
    guard let end else { throw .network(MutationError.awaitsItsLane(result.turn.lane)) }
    let answer = try end.get()
    guard let answer = answer as? Answer else { throw .network(MutationError.endedElsewhere) }
    return answer
  }
}

/// The lane of a mutation, whose entries are sent one after the other, and the owner of its work.
///
/// A step that awaits a mutation shares its keys with the lane. The lane awaits the step in
/// `Mutation.request(_:)`, which therefore cannot await a later mutation of the lane.
struct LaneTurn: Sendable {
  let lane: String
  let owner = LockOwner()
}

/// The outcome of a mutation, for any number of waiters.
final class SubmissionResult: Sendable {
  typealias Value = Result<any Sendable, ReactorError>

  private struct State {
    var value: Value?
    var waiters: [UInt64: CheckedContinuation<Value, Never>] = [:]
    /// The waiters that were refused before they waited.
    var refused: [UInt64: ReactorError] = [:]
    var last: UInt64 = 0
  }

  let turn: LaneTurn
  private weak let outbox: Outbox?
  private let state = Mutex(State())

  init(_ turn: LaneTurn, of outbox: Outbox) { (self.turn, self.outbox) = (turn, outbox) }

  /// Runs `body`, which waits for the outcome; `nil` if the lane could never start.
  func awaitingTurn<Result>(_ body: () async -> Result) async -> Result? {
    guard let outbox else { return await body() }
    return await outbox.awaiting(turn.lane, body)
  }

  /// Refuses waits that would never finish, after one has started.
  func refuseEndlessWaits() { outbox?.refuseEndlessWaits() }

  /// Sets the outcome, unless it is set already.
  func settle(_ value: Value) {
    let waiters = state.withLock { state -> [CheckedContinuation<Value, Never>] in
      guard state.value == nil else { return [] }
      state.value = value
      defer { state.waiters = [:] }
      return state.waiters.sorted { $0.key < $1.key }.map(\.value)
    }
    for waiter in waiters { waiter.resume(returning: value) }
  }

  /// The outcome; `nil` before it is known.
  var known: Value? { state.withLock(\.value) }

  /// Returns the number of another waiter.
  func nextID() -> UInt64 {
    state.withLock { state in
      state.last += 1
      return state.last
    }
  }

  /// Ends the wait of a waiter with an error.
  func refuse(_ id: UInt64, _ error: ReactorError) {
    let waiter = state.withLock { state in
      let waiter = state.waiters.removeValue(forKey: id)
      if waiter == nil { state.refused[id] = error }
      return waiter
    }
    waiter?.resume(returning: .failure(error))
  }

  /// Forgets a waiter that was resumed, and may have been refused since.
  func forget(_ id: UInt64) { state.withLock { $0.refused[id] = nil } }

  /// Waits for the outcome. A cancelled wait returns at once.
  func value(for id: UInt64) async -> Value {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let known = state.withLock { state -> Value? in
          if let value = state.value { return value }
          if let error = state.refused.removeValue(forKey: id) { return .failure(error) }
          if Task.isCancelled { return .failure(.cancelled) }
          state.waiters[id] = continuation
          return nil
        }
        if let known { continuation.resume(returning: known) }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: .failure(.cancelled))
    }
  }
}
