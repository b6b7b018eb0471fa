import ReactorCore

extension AsyncSequence where Self: Sendable, Element: Sendable {
  /// Returns a sequence that continues in the background, until the system's time for it is over.
  ///
  /// ```swift
  /// for try await progress in upload.continuingInBackground(
  ///   named: "upload", timeoutError: UploadError.outOfTime) { … }
  /// ```
  ///
  /// Background time is held from `makeAsyncIterator()` until the sequence ends or fails, its
  /// reader is cancelled, or the iterator is released. A reader's cancellation takes effect while
  /// it waits for an element, or when it requests the next.
  ///
  /// When the time expires first, this sequence is cancelled and the reader gets `timeoutError` at
  /// once, even if this sequence ignores cancellation. If the system then suspends the app, the
  /// reader sees the error when the app runs again. A cancelled reader gets a `CancellationError`
  /// at once, so that an interrupted sequence does not look complete.
  ///
  /// This sequence runs in its own task, which pulls an element when the reader requests one.
  ///
  /// - Parameters:
  ///   - name: The name to show in the system's tools.
  ///   - timeoutError: The error to throw when the time expires.
  ///   - backgroundTime: The source of the time. Servers and command-line tools use
  ///     ``GracePeriod``.
  public func continuingInBackground(
    named name: String, timeoutError: any Error, using backgroundTime: any BackgroundTime = SystemBackgroundTime()
  ) -> ContinuingInBackground<Self> {
    ContinuingInBackground(base: self, name: name, timeoutError: timeoutError, backgroundTime: backgroundTime)
  }
}

/// A sequence with background time; see
/// ``_Concurrency/AsyncSequence/continuingInBackground(named:timeoutError:using:)``.
public struct ContinuingInBackground<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable
where Base.Element: Sendable {
  public typealias Element = Base.Element
  public typealias Failure = any Error

  let base: Base
  let name: String
  let timeoutError: any Error
  let backgroundTime: any BackgroundTime

  public func makeAsyncIterator() -> Iterator { Iterator(run: Run(self)) }

  /// An iterator that holds background time until it ends or is released.
  public struct Iterator: AsyncIteratorProtocol {
    let run: Run

    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Base.Element? {
      try await run.elements.next()
    }
  }

  /// One iteration; releasing this object ends it.
  final class Run: Sendable {
    let elements = RendezvousChannel<Base.Element>()

    init(_ sequence: ContinuingInBackground) {
      // The task and the activity retain the channel, not this object, so that releasing the object
      // ends them.
      let activity = sequence.backgroundTime.begin(sequence.name) { [elements, error = sequence.timeoutError] in
        elements.end(throwing: error)
      }
      let task = spawn(on: nil, for: LockOwner.current) { [elements, base = sequence.base] in await elements.send(base)
      }
      elements.whenEnded {
        task.cancel()
        activity.end()
      }
    }

    deinit { elements.end() }
  }
}
