import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

@Suite("Operators: load states of a sequence")
struct LoadStatesOfSequenceTests {
  private func described(_ error: (any Error)?, after numbers: [Int]) async throws -> [String] {
    try await elements(numbers, thenThrow: error).loadStates().collect().map { state in
      let value = state.value.map { "\($0)" } ?? "-"
      return "\(value) \(state.error?.reason ?? "-") \(state.fetchStatus) \(state.revision)"
    }
  }

  @Test func `elements are loaded states after a loading one`() async throws {
    #expect(try await described(nil, after: [7, 8]) == ["- - fetching 0", "7 - idle 1", "8 - idle 2"])
  }

  @Test func `an empty sequence only loads`() async throws {
    #expect(try await described(nil, after: []) == ["- - fetching 0"])
  }

  @Test func `a failure is one last state that keeps the value`() async throws {
    #expect(try await described(ReactorError.timedOut, after: []) == ["- - fetching 0", "- timed out idle 1"])
    let kept = try await described(ReactorError.noConnectivity, after: [7])
    #expect(kept == ["- - fetching 0", "7 - idle 1", "7 no connectivity idle 2"])
  }

  @Test func `an error that is not ours is a network error or a cancellation`() async throws {
    let foreign = try await elements([Int](), thenThrow: Broken()).loadStates().collect().last?.error
    guard case .network(let error) = foreign else { return #expect(Bool(false), "\(String(describing: foreign))") }
    #expect(error is Broken)
    let cancelled = try await elements([Int](), thenThrow: CancellationError()).loadStates().collect().last
    #expect(cancelled?.error?.isCancelled == true)
  }

  @Test func `a cancelled task gets no failed state`() async throws {
    let begun = Latch()
    let reader = Reader(throwsWhenCancelled(begun).loadStates())
    try await begun.wait()
    await reader.cancel()
    #expect(try await reader.next()?.fetchStatus == .fetching)
    #expect(try await reader.next() == nil)
  }
}
