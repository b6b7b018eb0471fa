import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite struct `Until when a response is fresh by its own word` {
  private static let received = Date(timeIntervalSinceReferenceDate: 1_000)

  private func head(_ fields: HTTPFields, invalidatedAt: Date? = nil) -> Record.Head {
    let key = RecordKey.sample("note")
    var head = Record.Head(
      identity: key.identity, status: .ok, fields: fields, requestedAt: Self.received, receivedAt: Self.received)
    head.invalidatedAt = invalidatedAt
    return head
  }

  @Test(arguments: [
    ("max-age=60", 60.0), ("no-cache", 0), ("no-store, max-age=60", 0), ("max-age=60, must-revalidate", 60),
  ])
  func `a lifetime of Cache-Control counts from the response`(control: String, seconds: Double) {
    #expect(head([.cacheControl: control]).freshUntil == Self.received.addingTimeInterval(seconds))
  }

  @Test func `an age is subtracted, and a response without a lifetime is fresh for an unknown time`() {
    #expect(head([.cacheControl: "max-age=60", .age: "20"]).freshUntil == Self.received.addingTimeInterval(40))
    #expect(head([:]).freshUntil == nil)
  }

  @Test func `an invalidated response is fresh until then at most`() {
    let date = Self.received.addingTimeInterval(10)
    #expect(head([.cacheControl: "max-age=60"], invalidatedAt: date).freshUntil == date)
    #expect(head([:], invalidatedAt: date).freshUntil == date)
  }

  @Test func `a lifetime without an end is told as the distant future`() {
    let until = head([.cacheControl: "max-age=99999999999999999999"]).freshUntil
    #expect(until.map { $0 <= .distantFuture } == true)
  }
}
