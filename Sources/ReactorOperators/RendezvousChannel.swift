import ReactorCore
import Synchronization

/// Hands elements from one task to another, each when it is asked for, until either side or a third ends it.
final class RendezvousChannel<Element: Sendable>: Sendable {
  private typealias Reader = CheckedContinuation<Element?, any Error>
  private typealias Giver = CheckedContinuation<Bool, Never>

  private struct State {
    /// Waits for an element.
    var reader: Reader?
    /// Waits for a reader.
    var giver: Giver?
    var hasEnded = false
    /// The result that the next reader gets after the end.
    var failure: (any Error)?
    var onEnd: (@Sendable () -> Void)?

    /// The result for the reader now, or the writer that has to go on.
    mutating func read(_ reader: Reader) -> (Result<Element?, any Error>?, Giver?) {
      if hasEnded { return (failure.take().map { .failure($0) } ?? .success(nil), nil) }
      self.reader = reader
      return (nil, giver.take())
    }

    /// The continuation to resume, and the next step.
    mutating func end(_ error: (any Error)?) -> (Reader?, Giver?, (@Sendable () -> Void)?) {
      if hasEnded { return (nil, nil, nil) }
      hasEnded = true
      if reader == nil { failure = error }
      return (reader.take(), giver.take(), onEnd.take())
    }
  }

  private let state = Mutex(State())

  /// The next element; `nil` after the end, which a failure is, too.
  ///
  /// A reader that is cancelled ends it with a `CancellationError`.
  func next() async throws -> Element? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { reader in
        let (result, giver) = state.withLock { state in state.read(reader) }
        if let result { reader.resume(with: result) }
        giver?.resume(returning: true)
      }
    } onCancel: {
      end(throwing: CancellationError())
    }
  }

  /// Gives what `sequence` has, and ends with it. Returns after the end as soon as the sequence lets it.
  func send<Sequence: AsyncSequence>(_ sequence: Sequence) async where Sequence.Element == Element {
    do {
      guard !state.withLock(\.hasEnded) else { return }
      var iterator = sequence.makeAsyncIterator()
      while await isAsked(), let element = try await iterator.next(isolation: nil) {
        // Without a reader it has ended.
        state.withLock { $0.reader.take() }?.resume(returning: element)
      }
      end()
    } catch {
      end(throwing: error)
    }
  }

  /// Ends it, with an error or without; again, it does nothing. Who waits goes on at once.
  func end(throwing error: (any Error)? = nil) {
    let (reader, giver, onEnd) = state.withLock { state in state.end(error) }
    // First, so that the reader finds all ended.
    onEnd?()
    if let error { reader?.resume(throwing: error) } else { reader?.resume(returning: nil) }
    giver?.resume(returning: false)
  }

  /// Calls `action` once it has ended: at once where it has.
  func whenEnded(_ action: @escaping @Sendable () -> Void) {
    let hasEnded = state.withLock { state in
      if !state.hasEnded { state.onEnd = action }
      return state.hasEnded
    }
    if hasEnded { action() }
  }

  /// Returns once an element is asked for; `false` after the end.
  private func isAsked() async -> Bool {
    await withCheckedContinuation { giver in
      let answer: Bool? = state.withLock { state in
        if state.hasEnded { return false }
        if state.reader != nil { return true }
        state.giver = giver
        return nil
      }
      if let answer { giver.resume(returning: answer) }
    }
  }
}
