import Foundation
import FuzzSupport
import HTTPTypes

@testable import HTTPCaching
@testable import HTTPCachingProxy

/// Any fields are read, and decide nothing that is impossible.
///
/// The input is lines: seconds since the response came, fields of the request, and behind an empty
/// line those of the response.
@c(LLVMFuzzerTestOneInput) public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = Input(start, count)
  let lines = input.bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
  let head = lines.dropFirst().prefix { !$0.isEmpty }
  let (request, response) = (fields(head), fields(lines.dropFirst(head.count + 2)))
  let seconds = Double(String(decoding: lines[0], as: UTF8.self)).map { max(-100, min(1e9, $0)) } ?? 0
  checkAll(request, response, FieldChecks.time.addingTimeInterval(seconds))
  if let pumped = input.pumped(separator: "\n\n0\n") {
    let values = pumped.split(separator: UInt8(ascii: "\n")).prefix(4_000)
    checkAll(request, fields(values), FieldChecks.time)
  }
  for field in request + response {
    check(field.value)
    if let pumped = Input(field).pumped(separator: ",") {
      let long = HTTPFields([HTTPField(name: field.name, lenientValue: Array(pumped))])
      checkAll(request, long, FieldChecks.time)
    }
  }
  return 0
}

private func checkAll(_ request: HTTPFields, _ response: HTTPFields, _ now: Date) {
  if let problem = FieldChecks.problem(request, response, now) { violated("\(problem): \(request), \(response)") }
  let directives = RequestCacheControl(request)
  for seconds in [directives.maxAge, directives.maxStale, directives.minFresh] {
    check((seconds ?? 0) >= 0, "\(seconds ?? 0) seconds in \(request)")
  }
}

/// Checks the readings of one value.
private func check(_ value: String) {
  let now = FieldChecks.time
  // A leap second leads to the year 10000, and ``HTTPDate/format(_:)`` writes the years from 1 to
  // 9999.
  let years = -62_135_596_800.0..<253_402_300_800
  if let date = HTTPDate.parse(value, now: now), years.contains(date.timeIntervalSince1970) {
    check(HTTPDate.parse(HTTPDate.format(date), now: now) == date, "the date of \(value)")
  }
  if let tag = EntityTag(value) {
    let text = "\(tag.isWeak ? "W/" : "")\"\(tag.opaque)\""
    check(text.utf8.elementsEqual(value.utf8) && tag.weaklyMatches(tag), "the tag of \(value)")
  }
  let range = ByteRange([.range: value])
  for count in [0, 1, 10, Int.max] {
    guard let bytes = range?.resolved(count: count) else { continue }
    check(!bytes.isEmpty && bytes.lowerBound >= 0 && bytes.upperBound <= count, "\(bytes) of \(count): \(value)")
  }
}

private func fields(_ lines: some Sequence<some Collection<UInt8>>) -> HTTPFields {
  var fields: HTTPFields = [:]
  for line in lines {
    let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let name = HTTPField.Name(String(decoding: parts[0], as: UTF8.self)) else { continue }
    fields.append(HTTPField(name: name, lenientValue: Array(parts[1].drop { $0 == UInt8(ascii: " ") })))
  }
  return fields
}

extension Input {
  fileprivate init(_ field: HTTPField) {
    self = field.withUnsafeBytesOfValue { Input($0.baseAddress, $0.count) }
  }
}
