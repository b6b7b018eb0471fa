import Foundation
import HTTPTypes

/// Conditions of a client's request, evaluated by the cache on the stored response
/// (RFC 9111 §4.3.2).
enum Precondition {
  /// Returns whether the answer is a 304.
  static func isNotModified(_ request: HTTPFields, _ stored: Record.Head) -> Bool {
    guard stored.status == .ok else { return false }
    // `If-None-Match` takes precedence over `If-Modified-Since` (RFC 9110 §13.1.3).
    guard request.contains(.ifNoneMatch) else { return isUnmodified(request, stored) }
    var isMatched = false
    request.forEachElement(of: .ifNoneMatch) {
      isMatched = isMatched || matches($0.bytes.latin1, stored.fields.singleLatin1(.eTag))
    }
    return isMatched
  }

  /// Returns whether the answer may be a range: the request has no `If-Range`, or its validator
  /// matches strongly (RFC 9110 §13.1.5).
  static func allowsRange(_ request: HTTPFields, _ stored: Record.Head) -> Bool {
    guard request.contains(.ifRange) else { return true }
    guard let condition = request.singleLatin1(.ifRange) else { return false }
    if let tag = EntityTag(condition) {
      return stored.fields.singleLatin1(.eTag).flatMap(EntityTag.init).map(tag.stronglyMatches) ?? false
    }
    guard let date = HTTPDate.parse(condition, now: stored.receivedAt), let modified = stored.date(.lastModified),
      let sent = stored.date(.date)
    else { return false }
    // The date is a strong validator only if a second change within that second is impossible
    // (RFC 9110 §8.8.2.2).
    return date == modified && sent.timeIntervalSince(modified) >= 1
  }

  /// Returns whether a condition matches the stored tag. Text that is not an entity tag is compared
  /// unchanged.
  private static func matches(_ condition: String, _ stored: String?) -> Bool {
    if condition == "*" { return true }
    guard let stored else { return false }
    guard let tag = EntityTag(condition), let own = EntityTag(stored) else { return condition == stored }
    return tag.weaklyMatches(own)
  }

  /// Evaluates `If-Modified-Since`. Without `Last-Modified`, `Date` or else the time of receipt
  /// counts.
  private static func isUnmodified(_ request: HTTPFields, _ stored: Record.Head) -> Bool {
    guard let date = request[.ifModifiedSince].flatMap({ HTTPDate.parse($0, now: stored.receivedAt) })
    else { return false }
    let modified = stored.date(.lastModified) ?? stored.date(.date) ?? stored.receivedAt
    return modified <= date
  }
}

extension EntityTag {
  /// Returns whether both tags are strong and have the same bytes (§8.8.3.2).
  func stronglyMatches(_ other: EntityTag) -> Bool { !isWeak && !other.isWeak && weaklyMatches(other) }
}

/// One range of a body, from the field `Range` (RFC 9110 §14.1.2).
enum ByteRange: Hashable, Sendable {
  /// The bytes from the first position through the last, counted from zero. Without a last
  /// position, the range ends with the body.
  case bytes(Int, through: Int?)
  /// The given number of bytes at the end.
  case suffix(Int)

  /// Reads `Range`. Returns `nil` if the field is missing, invalid, in another unit, or has several
  /// ranges. The answer is then the whole body (§14.2).
  init?(_ fields: HTTPFields) {
    var ranges: [String] = []
    fields.forEachElement(of: .range) { ranges.append($0.text) }
    guard ranges.count == 1, let text = ranges.first, text.lowercased().hasPrefix("bytes=") else { return nil }
    let range = text.dropFirst("bytes=".count)
    guard let dash = range.firstIndex(of: "-") else { return nil }
    let (first, last) = (range[..<dash], range[range.index(after: dash)...])
    guard let end = Self.number(last) else { return nil }
    if first.isEmpty {
      guard let end else { return nil }
      self = .suffix(end)
    } else {
      guard let start = Self.number(first).flatMap(\.self), start <= end ?? .max else { return nil }
      self = .bytes(start, through: end)
    }
  }

  /// Returns the range in a body of `count` bytes, or `nil` if it has none of these bytes
  /// (§15.5.17).
  func resolved(count: Int) -> Range<Int>? {
    switch self {
    case .bytes(let first, let last):
      guard first < count else { return nil }
      let end = min(last ?? count - 1, count - 1)
      return first..<end + 1
    case .suffix(let length):
      return length > 0 && count > 0 ? max(0, count - length)..<count : nil
    }
  }

  /// Parses digits. The outer `nil` is text that is not a number, the inner `nil` is empty text. A
  /// number too large for `Int` counts as the greatest.
  private static func number(_ text: Substring) -> Int?? {
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
    return .some(text.isEmpty ? nil : Int(text) ?? .max - 1)
  }
}

/// The client's response, made from a stored record (RFC 9111 §4).
enum StoredResponse {
  /// Returns the stored response with `Age`, or the 304, 206 or 416 that the request's conditions
  /// and range require.
  ///
  /// - Parameter age: The age of the stored response, in seconds.
  static func make(_ record: Record, for request: HTTPRequest, age: Double) -> (HTTPResponse, Data) {
    var response = HTTPResponse(status: record.head.status, headerFields: record.head.fields)
    response.headerFields[.age] = String(Int64(min(max(0, age), Double(DeltaSeconds.greatest))))
    if Precondition.isNotModified(request.headerFields, record.head) { return (notModified(response), Data()) }
    guard request.method == .get, record.head.status == .ok, let range = ByteRange(request.headerFields),
      Precondition.allowsRange(request.headerFields, record.head)
    else { return (response, request.method == .head ? Data() : record.body) }
    return part(range, of: record.body, response)
  }

  /// Returns a 304 without the fields that describe the body (RFC 9110 §15.4.5).
  private static func notModified(_ response: HTTPResponse) -> HTTPResponse {
    var response = response
    response.status = .notModified
    for name in [.contentLength, .contentEncoding, .contentType, .contentRange] as [HTTPField.Name] {
      response.headerFields[name] = nil
    }
    return response
  }

  /// Returns a 206 with the range, or a 416 if the body does not have it (RFC 9110 §15.3.7,
  /// §15.5.17).
  private static func part(_ range: ByteRange, of body: Data, _ whole: HTTPResponse) -> (HTTPResponse, Data) {
    var response = whole
    guard let bytes = range.resolved(count: body.count) else {
      response.status = .rangeNotSatisfiable
      response.headerFields[.contentRange] = "bytes */\(body.count)"
      response.headerFields[.contentLength] = "0"
      return (response, Data())
    }
    let part = body[body.startIndex + bytes.lowerBound..<body.startIndex + bytes.upperBound]
    response.status = .partialContent
    response.headerFields[.contentRange] = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(body.count)"
    response.headerFields[.contentLength] = String(part.count)
    return (response, Data(part))
  }
}
