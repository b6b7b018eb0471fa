import Foundation
import HTTPTypes

/// A client's own conditions, evaluated by a cache on what it has stored (RFC 9111 §4.3.2).
enum Precondition {
  /// Whether 304 is the answer.
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

  /// Whether `If-Range` lets a part be the answer (RFC 9110 §13.1.5): compared strongly, or no such field.
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

  /// What is no entity tag is compared as it is.
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
