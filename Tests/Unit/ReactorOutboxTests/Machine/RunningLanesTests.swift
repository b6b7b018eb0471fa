import ReactorCore
import Testing

@testable import ReactorOutbox

/// The decision whether all lanes with a turn stand still, so that those without one wait in vain.
@Suite("Lanes that stand still") struct RunningLanesTests {
  private let key = RecordKey(method: .get, url: "https://api.example.com/notes")

  /// Two lanes with a turn, of two; the first waits for requests of the key.
  private var lanes: RunningLanes {
    var lanes = RunningLanes()
    lanes.begin("a")
    lanes.begin("b")
    lanes.wait("a", atGateOf: [key])
    return lanes
  }

  @Test func `a lane with a turn that waits for nothing keeps the others waiting in hope`() {
    #expect(lanes.standingStill(2) == nil)
  }

  @Test func `lanes stand still if each lane with a turn waits for requests or for a write`() {
    var (requests, write) = (lanes, lanes)
    requests.wait("b", atGateOf: [key])
    #expect(requests.standingStill(2) == [[key], [key]])
    guard case .begun = write.beginAwaiting("a", from: "b", 2) else { return #expect(Bool(false)) }
    #expect(write.standingStill(2) == [[key]])
    write.endAwaiting("b")
    #expect(write.standingStill(2) == nil)
  }

  @Test func `a free turn, and a wait that has ended, let the others go on`() {
    var lanes = lanes
    lanes.wait("b", atGateOf: [key])
    #expect(lanes.standingStill(3) == nil)
    lanes.wait("b", atGateOf: nil)
    #expect(lanes.standingStill(2) == nil)
  }

  @Test func `no wait is refused if every lane awaits a write, and none waits for requests`() {
    var lanes = RunningLanes()
    lanes.begin("a")
    _ = lanes.beginAwaiting("b", from: "a", 2)
    #expect(lanes.standingStill(1) == nil)
  }
}
