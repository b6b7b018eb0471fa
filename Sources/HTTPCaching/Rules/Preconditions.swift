import Foundation
import HTTPTypes

/// A client's own conditions, evaluated by a cache on what it has stored (RFC 9111 §4.3.2).
enum Precondition {
  /// Returns whether 304 is the answer.
  static func isNotModified(_ request: HTTPFields, _ stored: Record.Head) -> Bool {
    guard stored.status == .ok else { return false }
    // It goes before If-Modified-Since (RFC 9110 §13.1.3).
    guard request.contains(.ifNoneMatch) else { return isUnmodified(request, stored) }
    var isMatched = false
    request.forEachElement(of: .ifNoneMatch) {
      isMatched = isMatched || matches($0.bytes.latin1, stored.fields.singleLatin1(.eTag))
    }
    return isMatched
  }

  /// Returns whether `If-Range` lets a part be the answer (RFC 9110 §13.1.5): compared strongly, or
  /// no such field.
  static func allowsRange(_ request: HTTPFields, _ stored: Record.Head) -> Bool {
    guard request.contains(.ifRange) else { return true }
    guard let condition = request.singleLatin1(.ifRange) else { return false }
    if let tag = EntityTag(condition) {
      return stored.fields.singleLatin1(.eTag).flatMap(EntityTag.init).map(tag.stronglyMatches) ?? false
    }
    guard let date = HTTPDate.parse(condition, now: stored.receivedAt), let modified = stored.date(.lastModified),
      let sent = stored.date(.date)
    else { return false }
    // Strong only where it cannot have changed twice within that second (RFC 9110 §8.8.2.2).
    return date == modified && sent.timeIntervalSince(modified) >= 1
  }

  /// Text that is no entity tag is compared as it is.
  private static func matches(_ condition: String, _ stored: String?) -> Bool {
    if condition == "*" { return true }
    guard let stored else { return false }
    guard let tag = EntityTag(condition), let own = EntityTag(stored) else { return condition == stored }
    return tag.weaklyMatches(own)
  }

  /// Without `Last-Modified`, what counts is when the server sent it, or when it came.
  private static func isUnmodified(_ request: HTTPFields, _ stored: Record.Head) -> Bool {
    guard let date = request[.ifModifiedSince].flatMap({ HTTPDate.parse($0, now: stored.receivedAt) })
    else { return false }
    let modified = stored.date(.lastModified) ?? stored.date(.date) ?? stored.receivedAt
    return modified <= date
  }
}

/// A validator that stands for one state of a resource (RFC 9110 §8.8.3).
struct EntityTag: Hashable, Sendable {
  /// The text between the quotes.
  var opaque: String
  var isWeak: Bool

  /// `nil` for what is no entity tag: one without quotes, or with a quote inside.
  init?(_ text: String) {
    var rest = Substring(text)
    isWeak = rest.hasPrefix("W/")
    if isWeak { rest = rest.dropFirst(2) }
    guard rest.utf8.count >= 2, rest.hasPrefix("\""), rest.hasSuffix("\""),
      !rest.dropFirst().dropLast().utf8.contains(UInt8(ascii: "\""))
    else { return nil }
    opaque = String(rest.dropFirst().dropLast())
  }

  /// §8.8.3.2: both are strong and the same.
  func stronglyMatches(_ other: EntityTag) -> Bool { !isWeak && !other.isWeak && weaklyMatches(other) }

  /// §8.8.3.2: the same, whether weak or not. Compared as bytes.
  func weaklyMatches(_ other: EntityTag) -> Bool { opaque.hasSameBytes(as: other.opaque) }
}

/// One range of a body, as `Range` asks for it (RFC 9110 §14.1.2).
enum ByteRange: Hashable, Sendable {
  /// From a first to a last byte, both counted from zero.
  case bytes(Int, through: Int?)
  /// The last so many bytes.
  case suffix(Int)

  /// `nil` where the field is missing, has another unit, several ranges or none: then all of it is the answer (§14.2).
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

  /// Returns the bytes of a body of so many that are meant; `nil` where there are none (§15.5.17).
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

  /// No digits are no number; what overflows is the greatest; what has other than digits is no range.
  private static func number(_ text: Substring) -> Int?? {
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
    return .some(text.isEmpty ? nil : Int(text) ?? .max - 1)
  }
}

/// A response made of a stored record (RFC 9111 §4): with `Age`, and where the request says so 304, or a part of the body.
enum StoredResponse {
  /// - Parameter age: in seconds.
  static func make(_ record: Record, for request: HTTPRequest, age: Double) -> (HTTPResponse, Data) {
    var response = HTTPResponse(status: record.head.status, headerFields: record.head.fields)
    response.headerFields[.age] = String(Int64(min(max(0, age), Double(DeltaSeconds.greatest))))
    if Precondition.isNotModified(request.headerFields, record.head) { return (notModified(response), Data()) }
    guard request.method == .get, record.head.status == .ok, let range = ByteRange(request.headerFields),
      Precondition.allowsRange(request.headerFields, record.head)
    else { return (response, request.method == .head ? Data() : record.body) }
    return part(range, of: record.body, response)
  }

  /// RFC 9110 §15.4.5: what describes the body is left out.
  private static func notModified(_ response: HTTPResponse) -> HTTPResponse {
    var response = response
    response.status = .notModified
    for name in [.contentLength, .contentEncoding, .contentType, .contentRange] as [HTTPField.Name] {
      response.headerFields[name] = nil
    }
    return response
  }

  /// RFC 9110 §15.3.7 and §15.5.17.
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
