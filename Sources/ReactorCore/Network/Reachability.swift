/// Whether there is a way to the network at all.
///
/// It is a hint that saves a request which cannot succeed; it never promises that a server answers.
public protocol Reachability: Sendable {
  /// What is known now. Must return at once.
  var isReachable: Bool { get }

  /// A new stream at each access: first the current value, then each change.
  var changes: AsyncStream<Bool> { get }
}

/// Always reachable: every request is tried.
public struct AlwaysReachable: Reachability {
  public init() {}
  public var isReachable: Bool { true }
  public var changes: AsyncStream<Bool> {
    AsyncStream { continuation in
      continuation.yield(true)
      continuation.finish()
    }
  }
}

/// Never reachable: a program's own switch to offline.
public struct NeverReachable: Reachability {
  public init() {}
  public var isReachable: Bool { false }
  public var changes: AsyncStream<Bool> {
    AsyncStream { continuation in
      continuation.yield(false)
      continuation.finish()
    }
  }
}
