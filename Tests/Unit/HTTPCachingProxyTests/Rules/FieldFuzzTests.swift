import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import HTTPCaching
@testable import HTTPCachingProxy

/// Absurd field values, derived from ``FieldCorpus`` by a seeded generator. `REACTOR_FUZZ` is their
/// number.
@Suite("Any bytes in a field", .timeLimit(.minutes(10))) struct FieldFuzzTests {
  private static let names: [HTTPField.Name] = [
    .age, .cacheControl, .connection, .contentLength, .contentLocation, .date, .eTag, .expires, .ifMatch,
    .ifModifiedSince,
    .ifNoneMatch, .ifRange, .lastModified, FieldChecks.link, .location, .range, .retryAfter, .vary,
  ]

  @Test func `any bytes in a field are read without a trap, and lead to a possible decision`() throws {
    var generator = SeededGenerator(seed: Chance.seed("Any bytes in a field"))
    for _ in 0..<Chance.count("REACTOR_FUZZ", default: 10_000) {
      let (request, response) = (Self.fields(&generator), Self.fields(&generator))
      let seconds = Double(Int64.random(in: -100...100_000, using: &generator))
      let problem = FieldChecks.problem(request, response, FieldChecks.time.addingTimeInterval(seconds))
      try #require(problem == nil, "\(problem ?? ""): \(request), \(response), \(seconds) s")
    }
  }

  @Test func `the fields of the corpus are read without a trap`() throws {
    for value in FieldCorpus.values {
      for name in Self.names {
        let fields = HTTPFields([HTTPField(name: name, value: value)])
        #expect(FieldChecks.problem(fields, fields, FieldChecks.time) == nil, "\(name): \(value)")
      }
    }
  }

  private static func fields(_ generator: inout SeededGenerator) -> HTTPFields {
    var fields: HTTPFields = [:]
    for _ in 0..<Int.random(in: 0...6, using: &generator) {
      let name = names[Int.random(in: 0..<names.count, using: &generator)]
      fields.append(HTTPField(name: name, lenientValue: value(&generator)))
    }
    return fields
  }

  private static func value(_ generator: inout SeededGenerator) -> [UInt8] {
    func pick(_ generator: inout SeededGenerator) -> [UInt8] {
      Array(FieldCorpus.values[Int.random(in: 0..<FieldCorpus.values.count, using: &generator)].utf8)
    }
    var bytes = pick(&generator)
    for _ in 0..<Int.random(in: 0...3, using: &generator) {
      let place = Int.random(in: 0...bytes.count, using: &generator)
      switch Int.random(in: 0..<5, using: &generator) {
      case 0: bytes.insert(.random(in: 0 ... .max, using: &generator), at: place)
      case 1: bytes.removeSubrange(place..<min(bytes.count, place + 1))
      case 2: bytes.insert(contentsOf: pick(&generator), at: place)
      case 3: bytes.insert(Array(",;=\"\\ \t-*/".utf8)[Int.random(in: 0..<10, using: &generator)], at: place)
      default: bytes.append(contentsOf: [UInt8(ascii: ",")] + pick(&generator))
      }
    }
    return bytes
  }
}
