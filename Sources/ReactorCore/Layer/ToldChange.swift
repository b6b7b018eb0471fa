import Foundation
import HTTPCaching

/// A change that a server has told.
package struct ToldChange: Sendable {
  /// The resources that have changed.
  package var set: KeySet
  /// The strong entity tags that URLs of ``set`` have now.
  package var tags: [String: String]
  /// A Boolean value that indicates whether the change was made before all that were told later,
  /// even if it is marked after them.
  var isInOrder = false
  /// The strong entity tag from before the change, if the server has told it.
  var from: String?

  package init(_ set: KeySet, tags: [String: String] = [:]) { (self.set, self.tags) = (set, tags) }
}

/// A change under the number of its mark.
struct Marked: Sendable {
  let change: ToldChange
  let number: Generation
  let date: Date
  /// The tags of versions from before the change, by URL.
  var older: [String: Set<String>] = [:]

  /// Returns `true` if a copy in memory lacks the change.
  func concerns(_ copy: CachedModel) -> Bool {
    let url = copy.key.url
    if let tag = copy.head?.strongTag {
      if older[url]?.contains(tag) == true { return true }
      if change.tags[url] == tag { return false }
    }
    return copy.generation < number
  }
}

/// The entity tags of a URL, as far as changes have told them.
struct ToldTags: Sendable {
  /// The tag as of the latest change.
  var current: String
  /// The mark before that change.
  var before: (number: Generation, date: Date)?
  /// Tags from before that change, oldest first.
  private(set) var older: [String] = []

  /// The tags that are remembered. A replica that is further behind counts as current.
  private static let limit = 16

  /// - Parameter held: the tags of the copies that the layer has.
  init(current: String, held: [String], before: (number: Generation, date: Date)? = nil, _ earlier: ToldTags? = nil) {
    (self.current, self.before) = (current, before)
    older = earlier?.older ?? []
    add([earlier?.current].compactMap(\.self) + held)
  }

  mutating func add(_ tags: [String]) {
    for tag in tags where !older.contains(tag) { older.append(tag) }
    forget(current)
    older = older.suffix(Self.limit)
  }

  /// A version that is told again is none from before.
  mutating func forget(_ tag: String) { older.removeAll { $0 == tag } }
}

extension Record.Head {
  /// The entity tag, if it is a strong one (RFC 9110 §8.8.3): equal tags mean equal bytes.
  var strongTag: String? { fields.value(of: .eTag).flatMap { $0.hasPrefix("\"") ? $0 : nil } }
}

extension Snapshot {
  /// Returns the snapshot, stale if it lacks a change that the server has told.
  func marked(by marks: ChangeMarks, _ key: RecordKey, _ ticket: Generations.Ticket) -> Snapshot {
    guard let head, let date = marks.date(of: key, head.strongTag, head.groups, after: ticket.sentNumber) else {
      return self
    }
    var snapshot = self
    snapshot.head?.invalidatedAt = date
    snapshot.record?.head.invalidatedAt = date
    return snapshot
  }
}
