import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

@Suite struct `A background activity` {
  let ends = Shared(0)

  private func begin() -> BackgroundActivity { BackgroundActivity { [ends] in ends.change { $0 += 1 } } }

  @Test func `a background activity ends once, when end is called`() {
    let activity = begin()
    #expect(ends.value == 0)
    activity.end()
    activity.end()
    #expect(ends.value == 1)
  }

  @Test func `a background activity ends once, when it is released`() {
    _ = begin()
    #expect(ends.value == 1)
    begin().end()
    #expect(ends.value == 2)
  }

  @Test func `the closure of a background activity may end it again`() {
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
