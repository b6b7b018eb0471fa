import ReactorCore
import Synchronization

/// A channel without a buffer: each element passes from one task to another when it is requested,
/// until either task or a third one ends the channel.
final class RendezvousChannel<Element: Sendable>: Sendable {
  private typealias Reader = CheckedContinuation<Element?, any Error>
  private typealias Sender = CheckedContinuation<Bool, Never>

  private struct State {
    /// The reader that waits for an element.
    var reader: Reader?
    /// The sender that waits for a reader.
    var sender: Sender?
    var hasEnded = false
    /// The error that the next reader gets after the end.
    var failure: (any Error)?
    var onEnd: (@Sendable () -> Void)?

    /// Returns the result for the reader if there is one already, or the sender to resume.
    mutating func read(_ reader: Reader) -> (Result<Element?, any Error>?, Sender?) {
      if hasEnded { return (failure.take().map { .failure($0) } ?? .success(nil), nil) }
      self.reader = reader
      return (nil, sender.take())
    }

    /// Returns the continuations to resume, and the action to run.
    mutating func end(_ error: (any Error)?) -> (Reader?, Sender?, (@Sendable () -> Void)?) {
      if hasEnded { return (nil, nil, nil) }
      hasEnded = true
      if reader == nil { failure = error }
      return (reader.take(), sender.take(), onEnd.take())
    }
  }

  private let state = Mutex(State())

  /// Returns the next element; `nil` after the end, and after a failure was thrown.
  ///
  /// A cancelled reader ends the channel with a `CancellationError`.
  func next() async throws -> Element? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { reader in
        let (result, sender) = state.withLock { state in state.read(reader) }
        if let result { reader.resume(with: result) }
        sender?.resume(returning: true)
      }
    } onCancel: {
      end(throwing: CancellationError())
    }
  }

  /// Sends the elements of `sequence`, and ends the channel with it. If the channel ends first,
  /// this returns as soon as the sequence does.
  func send<Sequence: AsyncSequence>(_ sequence: Sequence) async where Sequence.Element == Element {
    do {
      guard !state.withLock(\.hasEnded) else { return }
      var iterator = sequence.makeAsyncIterator()
      while await isAsked(), let element = try await iterator.next(isolation: nil) {
        // There is no reader if the channel has ended.
        state.withLock { $0.reader.take() }?.resume(returning: element)
      }
      end()
    } catch {
      end(throwing: error)
    }
  }

  /// Ends the channel, with or without an error, and resumes the waiting tasks. Further calls do
  /// nothing.
  func end(throwing error: (any Error)? = nil) {
    let (reader, sender, onEnd) = state.withLock { state in state.end(error) }
    // Done first, so that the activity has ended when the reader resumes.
    onEnd?()
    if let error { reader?.resume(throwing: error) } else { reader?.resume(returning: nil) }
    sender?.resume(returning: false)
  }

  /// Calls `action` when the channel ends; at once if it has ended already.
  func whenEnded(_ action: @escaping @Sendable () -> Void) {
    let hasEnded = state.withLock { state in
      if !state.hasEnded { state.onEnd = action }
      return state.hasEnded
    }
    if hasEnded { action() }
  }

  /// Waits until an element is requested; returns `false` after the end.
  private func isAsked() async -> Bool {
    await withCheckedContinuation { sender in
      let answer: Bool? = state.withLock { state in
        if state.hasEnded { return false }
        if state.reader != nil { return true }
        state.sender = sender
        return nil
      }
      if let answer { sender.resume(returning: answer) }
    }
  }
}
