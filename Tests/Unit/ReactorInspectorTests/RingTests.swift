import Testing

@testable import ReactorInspector

@Suite("A ring")
struct RingTests {
  @Test(arguments: [(0, 3), (1, 3), (3, 3), (4, 3), (11, 3), (5, 1), (5, 0)])
  func `a ring keeps the latest, oldest first`(_ appended: Int, _ capacity: Int) {
    var ring = Ring<Int>(capacity: capacity)
    for number in 0..<appended { ring.append(number) }
    #expect(ring.elements == Array((0..<appended).suffix(max(capacity, 1))))
    #expect(ring.last == (appended == 0 ? nil : appended - 1))
    #expect(ring.count == ring.elements.count)
  }

  @Test(arguments: [(0, 9, [Int]()), (2, 9, [5, 6]), (9, 4, [4, 5, 6]), (9, 9, []), (9, 0, [3, 4, 5, 6])])
  func `a ring gives those at its end that are wanted`(_ limit: Int, _ least: Int, _ expected: [Int]) {
    var ring = Ring<Int>(capacity: 4)
    for number in 0..<7 { ring.append(number) }
    #expect(ring.suffix(limit) { $0 >= (least == 9 && limit == 2 ? 0 : least) } == expected)
  }

  @Test func `a ring changes its newest in place`() {
    var ring = Ring<Int>(capacity: 2)
    ring.updateLast { $0 = 7 }
    #expect(ring.isEmpty)
    for number in 0..<3 { ring.append(number) }
    ring.updateLast { $0 = 7 }
    #expect(ring.elements == [1, 7])
  }
}
