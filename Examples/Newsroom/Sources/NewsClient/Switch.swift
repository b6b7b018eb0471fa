public import ReactorCore
import Synchronization

/// A switch that the user turns, in any window.
public final class Switch: ReactorConfiguration.PowerSaving {
  private let state = Mutex((isOn: false, nextID: 0, readers: [Int: AsyncStream<Bool>.Continuation]()))

  public init() {}

  public var isOn: Bool { state.withLock(\.isOn) }

  public var updates: AsyncStream<Bool> {
    let (stream, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(1))
    let id = state.withLock { state in
      state.nextID += 1
      state.readers[state.nextID] = continuation
      // No task waits for it yet, so this overtakes no later value.
      continuation.yield(state.isOn)
      return state.nextID
    }
    continuation.onTermination = { [weak self] _ in _ = self?.state.withLock { $0.readers.removeValue(forKey: id) } }
    return stream
  }

  public func turn(on isOn: Bool) {
    let readers = state.withLock { state in
      state.isOn = isOn
      return Array(state.readers.values)
    }
    for reader in readers { reader.yield(isOn) }
  }
}
