import Testing

@testable import ReactorCore

@Suite struct `A flight` {
  var probe = FlightProbe()

  @Test mutating func `a flight loads once and requests once, however many join`() {
    #expect(probe.join(1, .cacheFirst) == ["load"])
    for id in UInt64(2)...50 { #expect(probe.join(id, .cacheFirst) == []) }
    #expect(probe.loaded(.none) == ["request"])
    for id in UInt64(51)...99 { #expect(probe.join(id, id.isMultiple(of: 2) ? .networkOnly : .cacheFirst) == []) }
    var expected: [String] = (1...99).map { (id: Int) -> String in "use \(id)" }
    expected.append("end")
    #expect(probe.succeeded() == expected)
    #expect(probe.waiters.isEmpty)
  }

  @Test mutating func `a flight requests at once for networkOnly, and also loads when cacheFirst joins`() {
    #expect(probe.join(1, .networkOnly) == ["request"])
    #expect(probe.join(2, .cacheFirst) == ["load"])
    #expect(probe.loaded(.fresh) == ["use 2"])
    #expect(probe.succeeded() == ["use 1", "end"])
  }

  @Test mutating func `a flight gives every waiter the network's answer, including waiters for persistence`() {
    _ = probe.join(1, .cacheFirst)
    #expect(probe.join(2, .networkOnly) == ["request"])
    #expect(probe.succeeded() == ["use 1", "use 2", "end"])
  }

  @Test mutating func `a flight ends once when the last waiter leaves, and not before`() {
    _ = probe.join(1, .cacheFirst)
    _ = probe.join(2, .cacheFirst, .stream)
    #expect(probe.leave(1) == [])
    #expect(probe.leave(1) == [])
    #expect(probe.leave(2) == ["end"])
  }

  @Test mutating func `a flight does not let the leaver disturb the others`() {
    _ = probe.join(1, .cacheFirst)
    _ = probe.join(2, .cacheFirst)
    _ = probe.leave(1)
    #expect(probe.loaded(.stale) == ["request"])
    #expect(probe.succeeded() == ["use 2", "end"])
  }

  @Test mutating func `a flight starts nothing when what was asked has answered everyone`() {
    _ = probe.join(1, .cacheFirst)
    _ = probe.join(2, .cacheOnly)
    #expect(probe.loaded(.fresh) == ["use 1", "use 2", "end"])
  }

  @Test mutating func `a flight fails a waiter of cacheOnly without a request, and continues for the others`() {
    _ = probe.join(1, .cacheOnly)
    _ = probe.join(2, .cacheFirst)
    #expect(probe.loaded(.none) == ["fail 1 not cached", "request"])
    #expect(probe.join(3, .cacheOnly) == ["fail 3 not cached"])
  }
}

@Suite struct `A flight that a caller has waited for long enough` {
  var probe = FlightProbe()

  @Test mutating func `a caller that waited long enough gets the stale fallback, and the request continues`() {
    _ = probe.join(1, .cacheFirst)
    #expect(probe.loaded(.withinStaleIfError) == ["request"])
    #expect(probe.waitedEnough(1) == ["use stale 1"])
    #expect(probe.waiters == [FlightMachine.background])
    #expect(probe.succeeded() == ["use 0", "end"])
  }

  @Test(arguments: [CopyAtHand.stale, .mayNotStandIn])
  mutating func `a caller without a stale fallback keeps waiting`(copy: CopyAtHand) {
    _ = probe.join(1, .cacheFirst)
    _ = probe.loaded(copy)
    #expect(probe.waitedEnough(1) == [])
    #expect(probe.succeeded() == ["use 1", "end"])
  }

  @Test mutating func `a caller that waited long enough is answered as soon as its load ends`() {
    _ = probe.join(1, .cacheFirst)
    #expect(probe.waitedEnough(1) == [])
    #expect(probe.loaded(.withinStaleIfError) == ["request", "use stale 1"])
    #expect(probe.failed() == ["use 0", "end"])
  }

  @Test mutating func `after the wait, networkFirst loads the stored value once and returns it`() {
    _ = probe.join(1, .networkFirst)
    _ = probe.join(2, .networkFirst)
    #expect(probe.waitedEnough(1) == ["load"])
    #expect(probe.waitedEnough(2) == [])
    #expect(probe.loaded(.stale) == ["use stale 1", "use stale 2"])
    #expect(probe.waiters == [FlightMachine.background])
    #expect(probe.succeeded() == ["use 0", "end"])
  }

  @Test mutating func `networkFirst gets the response if nothing is stored`() {
    _ = probe.join(1, .networkFirst)
    _ = probe.waitedEnough(1)
    #expect(probe.loaded(.none) == [])
    #expect(probe.succeeded() == ["use 1", "end"])
  }

  @Test mutating func `a flight that a caller has waited for long enough leaves the others waiting`() {
    _ = probe.join(1, .cacheFirst)
    _ = probe.join(2, .cacheFirst)
    _ = probe.join(3, .networkOnly)
    _ = probe.loaded(.withinStaleIfError)
    #expect(probe.waitedEnough(1) == ["use stale 1"])
    #expect(probe.waitedEnough(3) == [])
    #expect(probe.waitedEnough(1) == [])
    #expect(probe.succeeded() == ["use 2", "use 3", "use 0", "end"])
  }
}

@Suite struct `A flight whose network fails` {
  var probe = FlightProbe()

  @Test mutating func `a flight whose network fails fails each waiter with the error`() {
    _ = probe.join(1, .networkOnly)
    _ = probe.join(2, .networkOnly, .stream)
    #expect(probe.failed() == ["fail 1 timed out", "fail 2 timed out", "end"])
  }

  @Test mutating func `after a network failure, a flight loads the stale fallback for networkFirst`() {
    #expect(probe.join(1, .networkFirst) == ["request"])
    #expect(probe.failed() == ["load"])
    #expect(probe.loaded(.stale) == ["use 1", "end"])
  }

  @Test(arguments: [CopyAtHand.none, .mayNotStandIn])
  mutating func `networkFirst gets the first error if there is no stale fallback`(copy: CopyAtHand) {
    _ = probe.join(1, .networkFirst)
    _ = probe.failed()
    #expect(probe.loaded(copy) == ["fail 1 timed out", "end"])
  }

  @Test mutating func `several callers of networkFirst share one load after a failure`() {
    _ = probe.join(1, .networkFirst)
    _ = probe.join(2, .networkFirst, .stream)
    #expect(probe.join(3, .cacheFirst) == ["load"])
    #expect(probe.failed() == [])
    #expect(probe.loaded(.withinStaleIfError) == ["use 1", "use 2", "use 3", "end"])
  }

  @Test mutating func `a waiter whose load ends after the failure gets the failure, without a request`() {
    _ = probe.join(1, .networkOnly)
    _ = probe.join(2, .cacheFirst)
    #expect(probe.failed() == ["fail 1 timed out"])
    #expect(probe.loaded(.stale) == ["fail 2 timed out", "end"])
  }

  @Test mutating func `a copy that is loaded after the failure is the fallback, if it may be`() {
    _ = probe.join(1, .networkOnly)
    _ = probe.join(2, .cacheFirst)
    _ = probe.failed()
    #expect(probe.loaded(.withinStaleIfError) == ["use 2", "end"])
  }

  @Test mutating func `a flight whose network fails requests again for a waiter that joins after the failure`() {
    _ = probe.join(1, .networkOnly)
    _ = probe.join(2, .cacheFirst)
    _ = probe.failed()
    #expect(probe.join(3, .networkOnly) == ["request"])
    #expect(probe.succeeded() == ["use 2", "use 3", "end"])
  }

  @Test(arguments: FetchPolicy.allCases.filter { !$0.asksStoreFirst })
  mutating func `an error that is not the network's has no stale fallback`(policy: FetchPolicy) {
    probe.copy = .fresh
    _ = probe.join(1, policy)
    #expect(probe.failed(.cancelled) == ["fail 1 cancelled", "end"])
  }

  @Test mutating func `a failed background revalidation throws nothing to its caller`() {
    _ = probe.join(1, .staleWhileRevalidate)
    #expect(probe.loaded(.stale) == ["use 1", "request"])
    #expect(probe.failed() == ["fail 0 timed out", "end"])
  }
}

@Suite struct `A flight without connectivity` {
  var probe = FlightProbe()

  @Test mutating func `a flight without connectivity fails callers and the layer, and pauses streams`() {
    _ = probe.join(1, .networkOnly, .caller)
    _ = probe.join(2, .networkOnly, .stream)
    _ = probe.join(0, .networkOnly, .background)
    #expect(probe.unreachable() == ["fail 1 no connectivity", "fail 0 no connectivity"])
    #expect(probe.flight.isPaused)
    #expect(probe.waiters == [2])
  }

  @Test mutating func `a flight without connectivity ends where no stream waits`() {
    _ = probe.join(1, .networkOnly)
    #expect(probe.unreachable() == ["fail 1 no connectivity", "end"])
    #expect(!probe.flight.isPaused)
  }

  @Test mutating func `a flight without connectivity asks once when there is connectivity again`() {
    _ = probe.join(1, .networkOnly, .stream)
    _ = probe.join(2, .networkOnly, .stream)
    _ = probe.unreachable()
    #expect(probe.reconnected() == ["request"])
    #expect(probe.reconnected() == [])
    #expect(probe.succeeded() == ["use 1", "use 2", "end"])
  }

  @Test mutating func `a flight without connectivity and without waiters does not fire`() {
    _ = probe.join(1, .networkOnly, .stream)
    _ = probe.unreachable()
    #expect(probe.leave(1) == ["end"])
  }

  @Test mutating func `a flight without connectivity asks nothing on reconnection unless it is paused`() {
    #expect(probe.reconnected() == [])
    _ = probe.join(1, .networkOnly, .stream)
    #expect(probe.reconnected() == [])
  }

  @Test mutating func `a paused flight stays paused for another stream, and tries again for a caller`() {
    _ = probe.join(1, .networkOnly, .stream)
    _ = probe.unreachable()
    #expect(probe.join(2, .networkOnly, .stream) == [])
    #expect(probe.join(3, .networkOnly) == ["request"])
    #expect(!probe.flight.isPaused)
    #expect(probe.unreachable() == ["fail 3 no connectivity"])
    #expect(probe.flight.isPaused)
  }

  @Test mutating func `a flight without connectivity shows streams the stale fallback, and keeps them`() {
    probe.copy = .withinStaleIfError
    _ = probe.join(1, .cacheFirst, .stream)
    #expect(probe.loaded(.withinStaleIfError) == ["request"])
    #expect(probe.unreachable() == ["use 1"])
    #expect(probe.waiters == [1])
  }

  @Test mutating func `a stream that joins a paused flight gets the stale fallback`() {
    _ = probe.join(1, .cacheFirst, .stream)
    _ = probe.loaded(.withinStaleIfError)
    _ = probe.unreachable()
    #expect(probe.join(2, .cacheFirst, .stream) == ["use 2"])
    #expect(probe.waiters == [1, 2])
  }

  @Test mutating func `a paused stream of networkFirst shows the stored value, and stays`() {
    _ = probe.join(1, .networkFirst, .stream)
    #expect(probe.unreachable() == ["load"])
    #expect(probe.loaded(.stale) == ["use 1"])
    #expect(probe.waiters == [1])
    #expect(probe.reconnected() == ["request"])
  }

  @Test mutating func `a flight without connectivity keeps the waiters that wait for persistence`() {
    _ = probe.join(1, .networkOnly)
    _ = probe.join(2, .cacheFirst)
    #expect(probe.unreachable() == ["fail 1 no connectivity"])
    #expect(probe.loaded(.fresh) == ["use 2", "end"])
  }
}

@Suite struct `A flight that begins again` {
  @Test func `a flight that begins again keeps its waiters in their order, under another number`() {
    var probe = FlightProbe()
    _ = probe.join(1, .cacheFirst, .stream)
    _ = probe.join(2, .networkOnly)
    _ = probe.join(0, .networkOnly, .background)
    #expect(probe.restarted(id: 7) == ["load", "request"])
    #expect(probe.flight.id == 7)
    #expect(probe.waiters == [1, 2, 0])
    #expect(probe.flight.hasBackgroundWaiter)
    #expect(probe.succeeded() == ["use 1", "use 2", "use 0", "end"])
  }

  @Test func `a flight that begins again loads from persistence for waiters that were past it`() {
    var probe = FlightProbe()
    _ = probe.join(1, .cacheFirst)
    _ = probe.loaded(.stale)
    #expect(probe.restarted(id: 2) == ["load"])
    #expect(probe.loaded(.fresh) == ["use 1", "end"])
  }
}

@Suite struct `A flight for a stale copy that may be shown` {
  var probe = FlightProbe()

  @Test mutating func `a flight for a stale copy continues once in the background for many callers`() {
    _ = probe.join(1, .staleWhileRevalidate)
    _ = probe.join(2, .staleWhileRevalidate)
    #expect(probe.loaded(.stale) == ["use 1", "request", "use 2"])
    #expect(probe.waiters == [0])
    #expect(probe.join(3, .staleWhileRevalidate) == ["use 3"])
    #expect(probe.succeeded() == ["use 0", "end"])
  }

  @Test mutating func `a stream shows the stale copy, and then the answer`() {
    _ = probe.join(1, .staleWhileRevalidate, .stream)
    #expect(probe.loaded(.stale) == ["use 1", "request"])
    #expect(probe.waiters == [1])
    #expect(!probe.flight.hasBackgroundWaiter)
    #expect(probe.succeeded() == ["use 1", "end"])
  }

  @Test mutating func `a stale copy does not answer the layer's own revalidation, which asks the network`() {
    _ = probe.join(0, .staleWhileRevalidate, .background)
    #expect(probe.loaded(.stale) == ["request"])
    #expect(probe.waiters == [0])
  }
}
