import Testing

@testable import ReactorCore

@Suite(.timeLimit(.minutes(5))) struct `A sequence of events` {
  private let hub = EventHub()
  private let capacity = ReactorEvents.capacity

  private func emit(_ numbers: ClosedRange<Int>) {
    for number in numbers { hub.emit(numbered(number)) }
  }

  private func read(_ count: Int, from iterator: inout ReactorEvents.Iterator) async -> [Int] {
    var numbers: [Int] = []
    for _ in 0..<count {
      guard let event = await iterator.next() else { break }
      numbers.append(event.number)
    }
    return numbers
  }

  @Test func `a sequence of events gives what happens from its iterator on, in order`() async {
    let events = ReactorEvents(hub: hub)
    emit(1...2)
    #expect(!hub.hasObservers)
    var iterator = events.makeAsyncIterator()
    emit(3...5)
    #expect(await read(3, from: &iterator) == [3, 4, 5])
  }

  @Test func `a sequence of events gives each iterator everything`() async {
    let events = ReactorEvents(hub: hub)
    var first = events.makeAsyncIterator()
    var second = events.makeAsyncIterator()
    emit(1...3)
    #expect(await read(3, from: &first) == [1, 2, 3])
    #expect(await read(3, from: &second) == [1, 2, 3])
  }

  @Test func `a sequence of events observes until its iterator is released`() async {
    do {
      var iterator = ReactorEvents(hub: hub).makeAsyncIterator()
      emit(1...1)
      #expect(await iterator.next()?.number == 1)
      #expect(hub.hasObservers)
    }
    #expect(!hub.hasObservers)
  }

  @Test func `a sequence of events ends when its reader is cancelled`() async {
    let task = Task { [hub] in
      for await _ in ReactorEvents(hub: hub) {}
    }
    task.cancel()
    await task.value
    #expect(!hub.hasObservers)
  }

  @Test func `a sequence of events ends after its buffer when the hub is released`() async {
    var hub: EventHub? = EventHub()
    let events = hub.map { ReactorEvents(hub: $0) }
    let iterator = events?.makeAsyncIterator()
    hub?.emit(numbered(1))
    let task = Task {
      var iterator = iterator
      var numbers: [Int] = []
      while let event = await iterator?.next() { numbers.append(event.number) }
      return numbers
    }
    hub = nil
    #expect(await task.value == [1])
    var late = events?.makeAsyncIterator()
    #expect(await late?.next() == nil)
  }

  @Test func `a sequence of events includes the hub's lost events in its count`() async {
    var iterator = ReactorEvents(hub: hub).makeAsyncIterator()
    emit(1...capacity)
    hub.emit(ReactorEvent(key: numbered(0).key, model: "Note", kind: .dropped(7)))
    hub.emit(numbered(8))
    #expect(await read(capacity + 1, from: &iterator).last == -8)
  }

  @Test func `a sequence of events loses nothing up to its capacity`() async {
    var iterator = ReactorEvents(hub: hub).makeAsyncIterator()
    emit(1...capacity)
    #expect(await read(capacity, from: &iterator) == Array(1...capacity))
    emit(7...7)
    #expect(await iterator.next()?.number == 7)
  }

  @Test func `a slow reader of events gets the exact number of lost ones at their place`() async {
    var iterator = ReactorEvents(hub: hub).makeAsyncIterator()
    emit(1...capacity + 5)
    #expect(await read(1, from: &iterator) == [1])
    emit(9_001...9_001)
    #expect(await read(capacity + 1, from: &iterator) == Array(2...capacity) + [-5, 9_001])
  }

  @Test func `a slow reader of events gets the number of each gap`() async {
    var iterator = ReactorEvents(hub: hub).makeAsyncIterator()
    emit(1...10)
    #expect(await read(10, from: &iterator) == Array(1...10))
    emit(11...capacity + 10 + 3)
    #expect(await read(2, from: &iterator) == [11, 12])
    emit(9_001...9_004)
    #expect(await read(capacity - 2, from: &iterator) == Array(13...capacity + 10))
    #expect(await read(4, from: &iterator) == [-3, 9_001, 9_002, -2])
    emit(9_005...9_005)
    #expect(await read(1, from: &iterator) == [9_005])
  }

  @Test func `a reader gets the number of lost events even if no event follows`() async {
    var iterator = ReactorEvents(hub: hub).makeAsyncIterator()
    emit(1...capacity + 1)
    let numbers = await read(capacity + 1, from: &iterator)
    #expect(numbers.suffix(2) == [capacity, -1])
  }
}
