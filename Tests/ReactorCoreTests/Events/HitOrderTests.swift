import ReactorTesting
import Synchronization
import TestSupport
import Testing

@testable import ReactorCore

/// A hit takes its turn among the events before it lets go of what it has read: so no removal is told of before it.
@Suite("The order of a hit and a removal", .timeLimit(.minutes(2)))
struct HitOrderTests {
  @Test func `no hit is told of after the removal of what it has hit`() async throws {
    var configuration = ReactorConfiguration()
    configuration.keepUnusedFor = .never
    let reactor = Reactor(flow: ReactorFlow(configuration: configuration) { (resource: Resource) in resource.path })
    let engine = reactor.engine
    let state = Mutex((isRemoved: true, wrong: 0, hits: 0))
    let token = reactor.observeEvents { event in
      state.withLock { state in
        switch event.kind {
        case .savedLocally: state.isRemoved = false
        case .removed: state.isRemoved = true
        case .memoryHit:
          state.hits += 1
          if state.isRemoved { state.wrong += 1 }
        default: break
        }
      }
    }
    // So much work and no more, whatever else runs beside it.
    let readers = Shared(2)
    await withTaskGroup { group in
      for _ in 0..<2 {
        group.addTask {
          for _ in 0..<200 {
            for _ in 0..<100 { _ = engine.hit("a", .cacheFirst) }
            await Task.yield()
          }
          readers.change { $0 -= 1 }
        }
      }
      group.addTask {
        while readers.value > 0 {
          try? await reactor.save("1", for: "a")
          try? await reactor.remove("a")
        }
      }
    }
    #expect(state.withLock(\.wrong) == 0)
    token.cancel()
  }
}
