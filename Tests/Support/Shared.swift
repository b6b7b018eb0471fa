import Synchronization

/// A value that closures of a test share.
public final class Shared<Value: Sendable>: Sendable {
  private let storage: Mutex<Value>

  public init(_ value: Value) { storage = Mutex(value) }

  public var value: Value { storage.withLock { $0 } }

  public func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    storage.withLock { value in body(&value) }
  }
}
