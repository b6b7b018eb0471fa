import Foundation
import HTTPCachingProxy
import Testing

@testable import ReactorFleet

@Suite("The refresh before the end")
struct EarlyRefreshTests {
  private func isDue(age: Double, lifetime: Double = 100, cost: Double = 1, random: Double = 0.5, share: Double = 0)
    -> Bool
  {
    EarlyRefresh.isDue(age: age, lifetime: lifetime, cost: cost, random: random, share: share)
  }

  @Test func `the nearer the end, the more uses refresh it`() {
    #expect(!isDue(age: 50))
    // One in e⁴ is four requests early.
    #expect(isDue(age: 96.1, random: exp(-4)) && !isDue(age: 95.9, random: exp(-4)))
    #expect(isDue(age: 99.5, random: 0.5) && !isDue(age: 99.2, random: 0.5))
    #expect(isDue(age: 100, random: 0.999_999))
    let shares = [90, 96, 98, 99].map { age in
      (0..<10_000).count { isDue(age: Double(age), random: (Double($0) + 0.5) / 10_000) }
    }
    #expect(shares == [0, 183, 1_353, 3_679])
  }

  @Test func `a server that answers at once is asked at the very end, and no later`() {
    #expect(!isDue(age: 99.9, cost: 0) && isDue(age: 100, cost: 0))
    #expect(isDue(age: 95, cost: 0, share: 1) && !isDue(age: 94.9, cost: 0, share: 1))
  }

  @Test func `a response that is fresh for a moment, or takes long, is not refreshed early`() {
    #expect(!isDue(age: 9.9, lifetime: 9.99))
    #expect(!isDue(age: 99.9, cost: 10.1))
    #expect(!isDue(age: 99.9, cost: -1))
    #expect(isDue(age: 100, random: 0))
  }

  @Test func `servers agree on the share, and responses differ`() {
    let keys = (0..<1_000).map { RecordKey(method: .get, url: "https://api.example.com/\($0)") }
    let shares = keys.map { EarlyRefresh.share(of: $0, receivedAt: .init(timeIntervalSince1970: 1_767_225_600)) }
    #expect(shares == keys.map { EarlyRefresh.share(of: $0, receivedAt: .init(timeIntervalSince1970: 1_767_225_600)) })
    #expect(Set(shares).count == 1_000 && shares.allSatisfy { (0..<1).contains($0) })
    for tenth in 0..<10 {
      let count = shares.count { Int($0 * 10) == tenth }
      #expect((60...140).contains(count))
    }
  }
}
