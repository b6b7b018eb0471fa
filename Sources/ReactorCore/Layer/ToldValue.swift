package import Foundation
import HTTPCaching
import HTTPTypes

/// A new version of a resource, as a server has told it with a change.
package struct ToldValue: Sendable {
  package enum Content: Sendable {
    /// The whole body.
    case body(Data)
    /// The difference to the earlier version (RFC 7396).
    case merge(JSONValue)
  }

  package let url: String
  package let content: Content
  /// The strong entity tags of the version that it replaces, and of itself.
  package let (from, etag): (String, String)

  /// - Returns: `nil` unless both tags are strong.
  package init?(_ url: String, _ content: Content, from: String?, etag: String?) {
    guard let from, let etag, from.hasPrefix("\""), etag.hasPrefix("\""), from != etag else { return nil }
    (self.url, self.content, self.from, self.etag) = (url, content, from, etag)
  }

  /// Returns the record of this version; `nil` if it cannot be made.
  ///
  /// - Parameters:
  ///   - head: the head of the earlier version.
  ///   - body: its body, which only a difference needs.
  func record(after head: Record.Head, _ body: Data?, at now: Date) -> Record? {
    guard head.status == .ok, head.strongTag == from else { return nil }
    var (new, bytes) = (head, Data())
    switch content {
    case .body(let data): bytes = data
    case .merge(let patch):
      guard let body, let base = try? JSONValue(parsing: body), let data = try? base.merging(patch).data() else {
        return nil
      }
      bytes = data
    }
    // What describes the earlier bytes, or when they were sent.
    for name in Self.outdatedFields.compactMap({ HTTPField.Name($0) }) { new.fields[name] = nil }
    new.fields[.eTag] = etag
    (new.requestedAt, new.receivedAt, new.invalidatedAt) = (now, now, nil)
    return Record(head: new, body: bytes)
  }

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

/// A value that the server has told, and its place in the order of the layer. Nothing is replaced
/// before ``finish()``.
package struct ToldChangeOfValue: Sendable {
  let moment: Moment
  fileprivate let value: ToldValue
  fileprivate let replacements: [ToldReplacement]

  /// A Boolean value that indicates whether no copy can be replaced.
  package var isVoid: Bool { replacements.isEmpty }

  /// Replaces each copy that is still the earlier version, and that nothing else concerns: no
  /// request, no write, no draft and no local value. The others are left as they are.
  package func finish() async {
    for replacement in replacements { await replacement.reactor.finish(replacement, by: value) }
  }
}

/// A copy that a told value may replace.
struct ToldReplacement: Sendable {
  let reactor: any LayerReactor
  let ticket: Generations.Ticket
}

extension LayerContext {
  /// Begins to replace a value. The number of the change is drawn here, so that every later change
  /// is newer.
  package func begin(_ value: ToldValue) -> ToldChangeOfValue {
    let moment = Moment(number: generations.next(), date: configuration.now())
    // What other processes share is fetched from the server.
    let replacements = upstream == nil ? livingMembers.flatMap { $0.replacements(by: value) } : []
    return ToldChangeOfValue(moment: moment, value: value, replacements: replacements)
  }

  /// Marks the change of a value that was told, for the copies that were not replaced.
  package func mark(_ change: ToldChange, of value: ToldChangeOfValue) {
    var change = change
    change.isInOrder = true
    mark(change, as: value.moment)
  }
}
