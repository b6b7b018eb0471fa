import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@Suite("An answer that is equal to the value in memory", .timeLimit(.minutes(5)))
struct EqualValueTests {
  struct Plain: Codable, Sendable { var id: Int }
  struct Loose: Codable, Sendable, Equatable { var id: Int }

  @Test func `an answer that is equal to the value in memory is no new value, but is as fresh as it is`() async throws {
    let bench = Bench()
    let loose = bench.layer.reactor(Loose.self)
    bench.transport.answer("/v1/a", with: .json(#"{"id":1}"#))
    var states = loose.states(for: "a").makeAsyncIterator()
    let first = try #require(await states.first { $0.value != nil && $0.fetchStatus == .idle })
    bench.clock.advance(by: .seconds(9))
    _ = try await loose.fetchFromNetwork("a")
    let second = try #require(await states.first { $0.fetchedAt != first.fetchedAt && $0.fetchStatus == .idle })
    #expect(second.valueRevision == first.valueRevision && second.revision > first.revision)
    bench.transport.answer("/v1/a", with: .json(#"{"id":2}"#))
    _ = try await loose.fetchFromNetwork("a")
    let third = try #require(await states.first { $0.value?.id == 2 })
    #expect(third.valueRevision > first.valueRevision)
  }

  @Test func `an equal value is a new value if the type is not Equatable`() async throws {
    let bench = Bench()
    let plain = bench.layer.reactor(Plain.self)
    bench.transport.answer("/v1/a", with: .json(#"{"id":1}"#))
    _ = try await plain.fetch("a")
    let first = plain.states(for: "a").current.valueRevision
    _ = try await plain.fetchFromNetwork("a")
    #expect(plain.states(for: "a").current.valueRevision > first)
  }
}
