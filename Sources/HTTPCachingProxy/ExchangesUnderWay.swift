import Foundation
import Synchronization

/// The requests of a cache that are under way, each with the changes that have overtaken it.
///
/// A change marks stored responses stale (RFC 9111 §4.4). Where nothing is stored, it would leave
/// no trace, and an answer from before it would count as fresh. The table holds one entry for each
/// request under way.
final class ExchangesUnderWay: Sendable {
  fileprivate struct Entry {
    let scope: Scope
    var isOvertaken = false
    /// The groups that were invalidated since (RFC 9875). The groups of the response are not known
    /// yet.
    var groups: Set<String> = []
  }

  /// The entries by URL, and by the exchange.
  private let entries = Mutex<[String: [ObjectIdentifier: Entry]]>([:])

  /// Records a request, until the exchange is released.
  func begin(_ key: RecordKey) -> ExchangeUnderWay {
    let exchange = ExchangeUnderWay(key.url, self)
    entries.withLock { $0[exchange.url, default: [:]][ObjectIdentifier(exchange)] = Entry(scope: key.scope) }
    return exchange
  }

  /// Records a change of URLs, spelled as in `RecordKey.url`.
  ///
  /// - Parameter scope: The scope of the requests that it overtakes. Default: `nil`, every scope.
  func overtake(urls: Set<String>, in scope: Scope? = nil) {
    entries.withLock { entries in
      for url in urls { Self.overtake(&entries[url], in: scope) }
    }
  }

  /// Records a change of a URL whose path has a rule (`No-Vary-Search`): any query of the path may
  /// be equivalent.
  func overtake(path url: String) {
    let path = url.prefix { $0 != "?" }
    entries.withLock { entries in
      for url in entries.keys where url.prefix(while: { $0 != "?" }) == path { Self.overtake(&entries[url], in: nil) }
    }
  }

  /// Records that everything of a scope was removed; with `nil`, everything.
  func overtakeAll(in scope: Scope?) {
    entries.withLock { entries in
      for url in entries.keys { Self.overtake(&entries[url], in: scope) }
    }
  }

  /// Records a change of all responses of these groups, of one origin.
  func overtake(groups: Set<String>, of origin: WebOrigin?) {
    entries.withLock { entries in
      for url in entries.keys where URL(string: url).flatMap(WebOrigin.init) == origin {
        for id in entries[url, default: [:]].keys { entries[url]?[id]?.groups.formUnion(groups) }
      }
    }
  }

  private static func overtake(_ exchanges: inout [ObjectIdentifier: Entry]?, in scope: Scope?) {
    guard let ids = exchanges?.keys else { return }
    for id in ids where scope == nil || exchanges?[id]?.scope == scope { exchanges?[id]?.isOvertaken = true }
  }

  fileprivate func entry(of exchange: ExchangeUnderWay) -> Entry? {
    entries.withLock { $0[exchange.url]?[ObjectIdentifier(exchange)] }
  }

  fileprivate func end(_ exchange: ExchangeUnderWay) {
    entries.withLock { entries in
      entries[exchange.url]?[ObjectIdentifier(exchange)] = nil
      if entries[exchange.url]?.isEmpty == true { entries[exchange.url] = nil }
    }
  }

  /// The number of requests under way, for tests.
  var count: Int { entries.withLock { $0.values.reduce(0) { $0 + $1.count } } }
}

/// One request under way. It is finished when the last copy of its ``CacheRequest`` is released.
final class ExchangeUnderWay: Sendable {
  fileprivate let url: String
  private let table: ExchangesUnderWay

  fileprivate init(_ url: String, _ table: ExchangesUnderWay) {
    self.url = url
    self.table = table
  }

  deinit { table.end(self) }

  /// Returns whether a change was answered since the request began.
  ///
  /// - Parameter groups: The groups of the response. Default: none.
  func isOvertaken(groups: Set<String> = []) -> Bool {
    guard let entry = table.entry(of: self) else { return false }
    return entry.isOvertaken || !entry.groups.isDisjoint(with: groups)
  }
}
