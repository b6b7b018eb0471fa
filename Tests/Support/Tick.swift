import Synchronization

/// Counts up from 1.
public final class Tick: Sendable {
  private let count = Mutex(0)

  public init() {}

  public func next() -> Int {
    count.withLock { count in
      count += 1
      return count
    }
  }
}
