import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

@Suite struct `Scripted background time` {
  let time = ScriptedBackgroundTime()
  let expired = Shared<[String]>([])

  private func begin(_ name: String, _ time: ScriptedBackgroundTime) -> BackgroundActivity {
    time.begin(name) { [expired] in expired.change { $0.append(name) } }
  }

  @Test func `scripted background time names the running activities in order`() {
    let first = begin("a", time)
    var second: BackgroundActivity? = begin("b", time)
    let third = begin("a", time)
    #expect(time.names == ["a", "b", "a"])
    first.end()
    first.end()
    #expect(time.names == ["b", "a"])
    withExtendedLifetime(second) {}
    second = nil
    #expect(time.names == ["a"])
    third.end()
    #expect(time.names == [])
  }

  @Test func `scripted background time expires each running activity once, in order`() {
    let activities = ["a", "b", "c"].map { begin($0, time) }
    activities[1].end()
    time.expire()
    #expect(expired.value == ["a", "c"])
    #expect(time.names == [])
    for activity in activities { activity.end() }
    time.expire()
    #expect(expired.value == ["a", "c"])
  }

  @Test func `scripted background time begins activities again after an expiry`() {
    time.expire()
    let activity = begin("a", time)
    #expect(time.names == ["a"])
    #expect(expired.value == [])
    activity.end()
  }

  @Test func `scripted background time can expire each activity at once`() {
    let time = ScriptedBackgroundTime(isGiven: false)
    let activity = begin("a", time)
    #expect(expired.value == ["a"])
    #expect(time.names == [])
    activity.end()
    time.expire()
    #expect(expired.value == ["a"])
  }

  @Test func `an expiring activity may use the scripted background time`() {
    let held = Shared<BackgroundActivity?>(nil)
    let activity = time.begin("a") { [time] in
      held.change { $0.take() }?.end()
      held.change { $0 = time.begin("b") {} }
    }
    held.change { $0 = activity }
    time.expire()
    #expect(time.names == ["b"])
    held.change { $0.take() }?.end()
  }
}
