import Foundation
import HTTPCaching
import HTTPTypes
package import ReactorCore

extension ToldValue {
  enum Content: Sendable {
    /// The whole body.
    case body(Data)
    /// The difference to the earlier version (RFC 7396).
    case merge(JSONValue)

    /// Returns the body of the new version; `nil` if it cannot be made.
    fileprivate func body(after earlier: Data?) -> Data? {
      switch self {
      case .body(let data): return data
      case .merge(let patch):
        guard let earlier, let base = try? JSONValue(parsing: earlier) else { return nil }
        return try? base.merging(patch).data()
      }
    }
  }

  /// Creates a value from the strong entity tags of the version that it replaces, and of itself.
  ///
  /// - Returns: `nil` unless both tags are strong.
  init?(_ url: String, _ content: Content, from: String?, etag: String?) {
    guard let from, let etag, from.hasPrefix("\""), etag.hasPrefix("\""), from != etag else { return nil }
    let needsBody = if case .merge = content { true } else { false }
    self.init(url, from: from, needsBody: needsBody) { earlier, body, now in
      guard earlier.status == .ok, earlier.fields[.eTag] == from, let bytes = content.body(after: body) else {
        return nil
      }
      var new = earlier
      for name in Self.outdatedFields.compactMap({ HTTPField.Name($0) }) { new.fields[name] = nil }
      new.fields[.eTag] = etag
      (new.requestedAt, new.receivedAt, new.invalidatedAt) = (now, now, nil)
      return Record(head: new, body: bytes)
    }
  }

  /// The fields that describe the earlier bytes, or the time at which they were sent.
  private static let outdatedFields = [
    "Age", "Date", "Expires", "Last-Modified", "Content-Length", "Content-MD5", "Digest", "Content-Digest",
    "Repr-Digest", "Content-Encoding", "Signature", "Signature-Input",
  ]
}

extension JSONValue {
  /// Returns the value after a merge patch (RFC 7396 §2).
  package func merging(_ patch: JSONValue) -> JSONValue {
    guard case .object(let changes) = patch else { return patch }
    var members: [String: JSONValue] = [:]
    if case .object(let own) = self { members = own }
    for (name, value) in changes {
      if value == .null {
        members.removeValue(forKey: name)
      } else {
        members[name] = (members[name] ?? .null).merging(value)
      }
    }
    return .object(members)
  }
}
