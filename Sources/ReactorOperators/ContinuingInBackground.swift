import ReactorCore

extension AsyncSequence where Self: Sendable, Element: Sendable {
  /// This sequence, which goes on when the app goes to the background, until the time that the system gives for it is over.
  ///
  /// ```swift
  /// for try await progress in upload.continuingInBackground(named: "upload", timeoutError: UploadError.outOfTime) { … }
  /// ```
  ///
  /// The background time is held from `makeAsyncIterator()` on, until the end or failure of this sequence, the cancellation of
  /// its reader while it waits for an element (or when it asks for the next), or the end of the iterator's life. When it expires before that, this sequence is cancelled and `timeoutError` is
  /// thrown at once, even where this sequence does not heed its cancellation; where the system then puts the app to sleep, the
  /// reader sees the error when the app runs again. A reader that is cancelled gets a `CancellationError` at once, so that what was
  /// cut short does not look complete.
  ///
  /// - Parameters:
  ///   - name: what the system's tools show.
  ///   - backgroundTime: where the time comes from; ``GracePeriod`` for servers and command-line tools.
  ///
  /// This sequence runs in a task of its own, which asks it for an element when its reader asks for one.
  public func continuingInBackground(
    named name: String, timeoutError: any Error, using backgroundTime: any BackgroundTime = SystemBackgroundTime()
  ) -> ContinuingInBackground<Self> {
    ContinuingInBackground(base: self, name: name, timeoutError: timeoutError, backgroundTime: backgroundTime)
  }
}

/// A sequence that has background time; see
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

  public struct Iterator: AsyncIteratorProtocol {
    let run: Run

    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Base.Element? {
      try await run.elements.next()
    }
  }

  /// Ends the sequence with its own life.
  final class Run: Sendable {
    let elements = RendezvousChannel<Base.Element>()

    init(_ sequence: ContinuingInBackground) {
      // The task and the activity hold the elements, not this object, so that they end with this object.
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
