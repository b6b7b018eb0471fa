import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

@Suite struct `A background activity` {
  let ends = Shared(0)

  private func begin() -> BackgroundActivity { BackgroundActivity { [ends] in ends.change { $0 += 1 } } }

  @Test func `a background activity ends when it is told to, once`() {
    let activity = begin()
    #expect(ends.value == 0)
    activity.end()
    activity.end()
    #expect(ends.value == 1)
  }

  @Test func `a background activity ends when it is let go, once`() {
    _ = begin()
    #expect(ends.value == 1)
    begin().end()
    #expect(ends.value == 2)
  }

  @Test func `a background activity may be told to end by its own end`() {
    let held = Shared<BackgroundActivity?>(nil)
    let activity = BackgroundActivity { [ends] in
      ends.change { $0 += 1 }
      held.value?.end()
    }
    held.change { $0 = activity }
    activity.end()
    held.change { $0 = nil }
    #expect(ends.value == 1)
  }

  @Test func `a background activity ends once, however many say so at the same time`() async {
    let activity = begin()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<100 { group.addTask { activity.end() } }
    }
    #expect(ends.value == 1)
  }
}
