import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

@Suite("Operators: start with")
struct StartWithTests {
  @Test(arguments: [[], [1], [1, 2, 3]])
  func `the element comes first, then the sequence`(numbers: [Int]) async throws {
    #expect(try await elements(numbers).startWith(0).collect() == [0] + numbers)
    #expect(try await elements(numbers).startWithNil().collect() == [nil] + numbers.map(Optional.some))
  }

  @Test func `the first nil is distinguished from a nil of the sequence`() async throws {
    let optionals: [Int?] = [nil, 1]
    #expect(try await elements(optionals).startWithNil().collect() == [.none, .some(nil), .some(1)])
    #expect(try await elements(optionals).startWith(nil).collect() == [nil, nil, 1])
  }

  @Test func `the element is there while the sequence waits`() async throws {
    let signals = ScriptedSequence<Int>()
    var iterator = signals.startWith(0).makeAsyncIterator()
    #expect(await iterator.next(isolation: nil) == 0)
    signals.send(1)
    #expect(await iterator.next(isolation: nil) == 1)
    signals.finish()
    #expect(await iterator.next(isolation: nil) == nil)
    #expect(await iterator.next(isolation: nil) == nil)
  }

  @Test func `a failure is passed on after the element`() async throws {
    var iterator = elements([Int](), thenThrow: Broken()).startWith(0).makeAsyncIterator()
    #expect(try await iterator.next() == 0)
    await #expect(throws: Broken.self) { try await iterator.next() }
  }
}
