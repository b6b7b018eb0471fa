import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import ReactorCore

@Suite struct `Models that were decoded before` {
  /// A lock that holds a function by itself wraps it again whenever it gives it out: after some
  /// thousand fetches of one reactor, asking would take longer than fetching, and then end in an
  /// overflow of the stack.
  @Test func `models that were decoded before are requested as directly the hundredth time as the first`() {
    let models = DecodedModelLookup()
    let key = RecordKey(method: .get, url: "https://api.example.com/articles")
    let head = Record.Head(identity: key.identity, status: .ok, fields: [:], requestedAt: .now, receivedAt: .now)
    let depths = Mutex<[Int]>([])
    models.connect { _ in
      let depth = Thread.callStackReturnAddresses.count
      depths.withLock { $0.append(depth) }
      return nil
    }
    for _ in 0..<100 { #expect(models.model(of: key, from: head) == nil) }
    let seen = depths.withLock { $0 }
    #expect(seen.count == 100 && Set(seen).count == 1, "\(seen)")
  }
}
