import ReactorTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Scripted app activity` {
  let activity = ScriptedAppActivity()

  @Test func `scripted app activity yields to each open stream`() async {
    var first = activity.becameActive.makeAsyncIterator()
    activity.becomeActive()
    var second = activity.becameActive.makeAsyncIterator()
    #expect(await first.next() != nil)
    activity.becomeActive()
    #expect(await first.next() != nil)
    #expect(await second.next() != nil)
  }

  @Test func `scripted app activity buffers one element for a slow reader`() async {
    var activity: ScriptedAppActivity? = ScriptedAppActivity()
    var iterator = activity?.becameActive.makeAsyncIterator()
    for _ in 0..<1_000 { activity?.becomeActive() }
    activity = nil
    #expect(await iterator?.next() != nil)
    #expect(await iterator?.next() == nil)
  }

  @Test func `scripted app activity forgets a cancelled stream`() async {
    let stream = activity.becameActive
    #expect(activity.openStreams == 1)
    let task = Task { for await _ in stream {} }
    task.cancel()
    await task.value
    #expect(activity.openStreams == 0)
  }

  @Test func `scripted app activity forgets a released stream`() {
    _ = activity.becameActive
    #expect(activity.openStreams == 0)
    activity.becomeActive()
  }

  @Test func `a departure is told to its own streams alone`() async {
    var activity: ScriptedAppActivity? = ScriptedAppActivity()
    var left = activity?.leftActive.makeAsyncIterator()
    var returned = activity?.becameActive.makeAsyncIterator()
    #expect(activity?.openStreams == 1)
    activity?.leave()
    #expect(await left?.next() != nil)
    activity = nil
    #expect(await left?.next() == nil)
    #expect(await returned?.next() == nil)
  }
}
