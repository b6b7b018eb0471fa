import Synchronization

/// A value that the closures of a test share, guarded by a lock.
package final class Shared<Value: Sendable>: Sendable {
  private let storage: Mutex<Value>

  package init(_ value: Value) { storage = Mutex(value) }

  package var value: Value { storage.withLock { $0 } }

  package func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    storage.withLock { value in body(&value) }
  }
}
