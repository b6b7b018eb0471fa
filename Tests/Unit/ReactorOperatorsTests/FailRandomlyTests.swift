import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

@Suite("Operators: failing randomly")
struct FailRandomlyTests {
  @Test(arguments: [
    (0, false), (-0.0, false), (-1, false), (-Double.infinity, false), (.nan, false),
    (1, true), (2, true), (Double.infinity, true),
  ])
  func `a probability outside 0 to 1 is the nearer end`(probability: Double, fails: Bool) async throws {
    for seed in 0..<100 {
      let generator = SeededGenerator(seed: UInt64(seed))
      let sequence = elements([1]).failRandomly(with: Broken(), probability: probability, using: generator)
      do {
        let read = try await sequence.collect()
        #expect(!fails && read == [1])
      } catch {
        #expect(fails && error is Broken)
      }
    }
  }

  /// Returns the number of elements before the failure of each of 200 runs over one generator.
  private func lengths(seed: UInt64, probability: Double) async throws -> [Int] {
    let generator = SeededGenerator(seed: seed)
    var lengths: [Int] = []
    for _ in 0..<200 {
      var iterator = elements(Array(0..<10)).failRandomly(with: Broken(), probability: probability, using: generator)
        .makeAsyncIterator()
      var length = 0
      do { while try await iterator.next() != nil { length += 1 } } catch { #expect(error is Broken) }
      #expect(try await iterator.next() == nil)
      lengths.append(length)
    }
    return lengths
  }

  @Test func `a seed settles where it fails, and the next run fails elsewhere`() async throws {
    let first = try await lengths(seed: 1, probability: 0.5)
    #expect(try await lengths(seed: 1, probability: 0.5) == first)
    #expect(try await lengths(seed: 2, probability: 0.5) != first)
    #expect(Set(first).count > 3)
    #expect(first.count { $0 == 0 } > 70 && first.count { $0 == 0 } < 130)
  }

  @Test func `the failure of the sequence itself is passed on`() async throws {
    let sequence = elements([1], thenThrow: ReactorError.timedOut)
      .failRandomly(with: Broken(), probability: 0, using: SeededGenerator(seed: 1))
    await #expect(throws: ReactorError.self) { try await sequence.collect() }
  }

  @Test func `the seeded numbers are those of SplitMix64`() {
    let generator = SeededGenerator(seed: 1_234_567)
    #expect(
      (0..<3).map { _ in generator.next() } == [
        6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
      ])
  }
}
