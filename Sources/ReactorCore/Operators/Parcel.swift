import Synchronization

/// Passes a value to the one task that takes it.
final class Parcel<Value>: Sendable {
  private let value: Mutex<Value?>

  init(_ value: sending Value) { self.value = Mutex(value) }

  func take() -> sending Value? { value.withLock { $0.take() } }
}
