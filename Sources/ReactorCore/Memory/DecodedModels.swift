import Synchronization

/// A way for a flow's steps to ask its reactor's memory for the model that was made from a record, so that the bytes need not be parsed
/// again. Empty until a reactor runs the flow.
final class DecodedModels: Sendable {
  typealias Find = @Sendable (RecordKey) -> Copy?

  /// A function that is the whole of what a lock holds would be wrapped anew whenever the lock gives it out, and stay so.
  private struct Memory {
    var find: Find
  }

  private let memory = Mutex<Memory?>(nil)

  func connect(_ find: @escaping Find) { memory.withLock { $0 = Memory(find: find) } }

  /// The model in memory, if it was made from this very exchange.
  func model(of key: RecordKey, from head: Record.Head) -> AnyModel? {
    guard let copy = memory.withLock({ $0 })?.find(key), let own = copy.head, own.isSameExchange(as: head)
    else { return nil }
    return copy.model
  }
}
