import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

@Suite("Operators: ignoring errors")
struct IgnoringErrorsTests {
  @Test func `a failure is the replacement and the end`() async {
    var iterator = elements([1, 2], thenThrow: Broken()).ignoringErrors(replacement: 0).makeAsyncIterator()
    var read: [Int] = []
    while let element = await iterator.next(isolation: nil) { read.append(element) }
    #expect(read == [1, 2, 0])
    #expect(await iterator.next(isolation: nil) == nil)
  }

  @Test func `a failure without a replacement is the end`() async throws {
    #expect(try await elements([1, 2], thenThrow: Broken()).ignoringErrors().collect() == [1, 2])
  }

  @Test func `a sequence that does not fail is not replaced`() async throws {
    #expect(try await elements([1, 2]).ignoringErrors(replacement: 0).collect() == [1, 2])
  }

  @Test func `nil replaces an error only where it is said twice`() async throws {
    let optionals: [Int?] = [1]
    #expect(try await elements(optionals, thenThrow: Broken()).ignoringErrors(replacement: nil).collect() == [1])
    #expect(
      try await elements(optionals, thenThrow: Broken()).ignoringErrors(replacement: .some(nil)).collect() == [1, nil])
  }

  @Test func `a cancelled task gets no replacement`() async throws {
    let begun = Latch()
    let reader = Reader(throwsWhenCancelled(begun).ignoringErrors(replacement: 0))
    try await begun.wait()
    await reader.cancel()
    #expect(try await reader.next() == nil)
  }
}
