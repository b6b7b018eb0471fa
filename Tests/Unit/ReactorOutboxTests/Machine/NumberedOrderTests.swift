import Synchronization
import Testing

@testable import ReactorOutbox

@Suite struct `An order of numbers` {
  @Test func `ids stand in the order of their numbers, however they are added`() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<50 {
      var order = NumberedOrder<Int, Int>()
      var numbers = Array(0..<40)
      numbers.shuffle(using: &generator)
      for number in numbers { order.insert(number * 10, at: number) }
      #expect(order.ids == (0..<40).map { $0 * 10 })
      for number in numbers.prefix(30) { order.remove(number * 10, at: number) }
      #expect(order.ids == numbers.dropFirst(30).sorted().map { $0 * 10 })
      #expect(order.first == order.ids.first)
    }
  }

  @Test func `ids of one number stand in the order in which they were added`() {
    var order = NumberedOrder<Int, String>()
    for id in ["a", "b", "c"] { order.insert(id, at: 0) }
    order.insert("z", at: 1)
    order.insert("d", at: 0)
    #expect(order.ids == ["a", "b", "c", "d", "z"])
    order.remove("c", at: 0)
    order.remove("x", at: 0)
    order.remove("a", at: 7)
    #expect(order.ids == ["b", "d", "z"])
    for id in ["z", "b", "d"] { order.remove(id, at: id == "z" ? 1 : 0) }
    #expect(order.isEmpty && order.first == nil)
  }

  @Test func `ten thousand are added and drained in a few steps each`() {
    let count = 10_000
    Counted.steps.withLock { $0 = 0 }
    var order = NumberedOrder<Counted, Int>()
    for number in 0..<count { order.insert(number, at: Counted(number)) }
    while let first = order.first { order.remove(first, at: Counted(first)) }
    #expect(Counted.steps.withLock { $0 } <= count)
    // In any order: fourteen steps of a bisection each way.
    let shuffled = (0..<count).map { ($0 * 7_919) % count }
    for number in shuffled { order.insert(number, at: Counted(number)) }
    for number in shuffled.reversed() { order.remove(number, at: Counted(number)) }
    #expect(order.isEmpty)
    #expect(Counted.steps.withLock { $0 } <= count * 35)
  }
}

/// A number that counts its comparisons.
private struct Counted: Comparable {
  static let steps = Mutex(0)
  let number: Int

  init(_ number: Int) { self.number = number }

  static func < (one: Self, other: Self) -> Bool {
    steps.withLock { $0 += 1 }
    return one.number < other.number
  }

  static func == (one: Self, other: Self) -> Bool {
    steps.withLock { $0 += 1 }
    return one.number == other.number
  }
}
