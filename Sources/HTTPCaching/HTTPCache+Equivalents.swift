package import Foundation
package import HTTPTypes

/// Responses to URLs that differ in query items which select no other response (`No-Vary-Search`).
///
/// A response is stored under the key of its URL. Beside it, the store has two notes: the rule
/// of the path, which is its latest value, and an alias for all URLs that are equivalent by it. The
/// alias has the latest news of them: the key of the newest response, or the time of a change.
extension HTTPCache {
  /// Returns the response that answers a request: the record of its URL, or the record of an
  /// equivalent URL if that is newer (RFC 9111 §4).
  ///
  /// The value of the stored response decides whether its URL is equivalent; the rule of the path
  /// only finds it. A stale one does not replace the exact record, but makes it stale. Its
  /// validators belong to another URL, and are left out. A failure of the store counts as a miss.
  ///
  /// - Parameters:
  ///   - exact: The record that is stored for `key`, of the request's variant.
  ///   - request: The fields of the request, which select the variant.
  ///   - now: The current time of the wall clock.
  ///   - isFresh: A closure that returns whether a response is fresh now.
  /// - Returns: The record, and the key under which it is stored if that is not `key`.
  package func newest(
    _ exact: Record?, of key: RecordKey, for request: HTTPFields, at now: Date, isFresh: (Record.Head) -> Bool
  ) async -> (record: Record?, equivalent: RecordKey?) {
    guard exact?.head.localModel == nil, let rule = await rule(of: key, orOf: exact),
      let alias = key.alias(by: rule), let news = (try? await load(alias)) ?? nil
    else { return (exact, nil) }
    guard !news.body.isEmpty else { return (exact?.stale(since: news.head.receivedAt), nil) }
    guard let (found, other) = await equivalent(to: key, news, alias, request) else { return (exact, nil) }
    guard let exact else { return (found, other) }
    guard found.head.isNewer(than: exact.head) else { return (exact, nil) }
    let isOvertaken = exact.head.invalidatedAt.map { $0 >= found.head.requestedAt } ?? false
    if isFresh(found.head), !isOvertaken { return (found, other) }
    // What made the newest one stale concerns the older ones too.
    return (isFresh(exact.head) ? exact.stale(since: now) : exact, nil)
  }

  /// Returns the record that an alias names, if its own value says that it answers a request of
  /// `key`. An alias that leads nowhere is removed.
  private func equivalent(
    to key: RecordKey, _ news: Record, _ alias: RecordKey, _ request: HTTPFields
  ) async -> (Record, RecordKey)? {
    guard let other = RecordKey(identity: String(decoding: news.body, as: UTF8.self)), other != key,
      other.scope == key.scope, other.method == .get, !other.isNote
    else { return nil }
    do {
      let (found, hasOtherVariant) = try await find(other, for: request)
      guard var record = found else {
        if !hasOtherVariant { await forgetAlias(alias, of: other) }
        return nil
      }
      guard let value = record.head.noVarySearch, let own = key.alias(by: value), own == other.alias(by: value) else {
        if record.head.variant == nil { await forgetAlias(alias, of: other) }
        return nil
      }
      record.head.identity = key.identity
      record.head.otherVariants = []
      for name in [.eTag, .lastModified] as [HTTPField.Name] { record.head.fields[name] = nil }
      return (record, other)
    } catch {
      return nil
    }
  }

  /// Returns the keys of `keys` that are equivalent to `key` by the rule of its path, with any
  /// method and identity fields. A change of one URL is news of all.
  package func equivalents(of key: RecordKey, among keys: () -> [RecordKey]) async -> [RecordKey] {
    let key = RecordKey.get(key)
    guard let rule = await rule(of: key, orOf: nil), let alias = key.alias(by: rule) else { return [] }
    return keys().filter { $0.hasPath(of: key) && RecordKey.get($0).alias(by: rule) == alias }
  }

  /// Returns whether responses to one query of the URL's path may answer another.
  package func hasRule(_ key: RecordKey) async -> Bool { await rule(of: key, orOf: nil) != nil }

  /// Returns the rule of a key's path. It is read from the store at the first miss of the path.
  ///
  /// - Parameter exact: The record of the key. While the rule is not in memory, its value is used,
  ///   so that a hit reads nothing more.
  private func rule(of key: RecordKey, orOf exact: Record?) async -> NoVarySearch? {
    guard let rules, key.method == .get else { return nil }
    let path = key.pathHash
    if let known = rules.known(path) { return known }
    if let exact { return exact.head.noVarySearch }
    let note = key.rule
    do {
      let rule = try await load(note).flatMap { NoVarySearch($0.head.fields) }
      rules.note(rule, of: path, isRead: true)
      return rules.known(path) ?? rule
    } catch {
      return nil
    }
  }
}

extension HTTPCache {
  /// Returns the record that saving `record` replaces, if its alias may be another one.
  func replaced(by record: Record, for key: RecordKey) async -> Record? {
    guard rules != nil, key.method == .get, record.head.noVarySearch != nil, let first = (try? await load(key)) ?? nil
    else { return nil }
    guard let variant = record.head.variant, let other = first.head.variant, other != variant,
      other.names == variant.names
    else { return first }
    return (try? await load(key.variant(variant.digest))) ?? nil
  }

  /// Notes a record that was saved, in place of `older`: its value is the rule of its path, and it
  /// is the newest of the responses to equivalent URLs.
  ///
  /// A note that cannot be saved is missing later, which is a miss.
  func note(_ record: Record, for key: RecordKey, inPlaceOf older: Record?) async {
    guard let rules, key.method == .get, let value = record.head.noVarySearch, let alias = key.alias(by: value) else {
      return
    }
    if let old = older?.head.noVarySearch.flatMap(key.alias), old != alias { await forgetAlias(old, of: key) }
    let path = key.pathHash
    if rules.known(path) != .some(value) {
      let rule = key.rule
      rules.note(value, of: path)
      let fields = record.head.fields.filter { $0.name == NoVarySearch.field }
      try? await persistence?.save(Record(note: rule, at: record.head.receivedAt, fields: fields), for: rule)
    }
    let news = (try? await load(alias)) ?? nil
    let isNamed = news.map { $0.body.elementsEqual(key.identity.utf8) } ?? false
    // A response from before a change of an equivalent URL is no news.
    let isOvertaken = news.map { $0.body.isEmpty && $0.head.receivedAt >= record.head.requestedAt } ?? false
    guard !isNamed, !isOvertaken else { return }
    let body = Data(key.identity.utf8)
    try? await persistence?.save(Record(note: alias, at: record.head.receivedAt, body: body), for: alias)
  }

  /// Notes that a URL has changed: no response to an equivalent one from before is fresh.
  ///
  /// - Parameter record: The record of the URL.
  func noteChange(of key: RecordKey, _ record: Record?, at date: Date) async throws {
    guard let alias = await rule(of: key, orOf: record).flatMap(key.alias) else { return }
    try await persistence?.save(Record(note: alias, at: date), for: alias)
  }

  /// Removes the alias of a record that is removed.
  func forgetAlias(of record: Record?, _ key: RecordKey) async {
    guard rules != nil, let alias = record?.head.noVarySearch.flatMap(key.alias) else { return }
    await forgetAlias(alias, of: key)
  }

  private func forgetAlias(_ alias: RecordKey, of key: RecordKey) async {
    guard let news = (try? await load(alias)) ?? nil, news.body.elementsEqual(key.identity.utf8) else { return }
    try? await persistence?.remove(alias)
  }
}

extension Record {
  /// Creates a note of the cache.
  fileprivate init(note key: RecordKey, at date: Date, fields: HTTPFields = [:], body: Data = Data()) {
    let head = Head(identity: key.identity, status: .ok, fields: fields, requestedAt: date, receivedAt: date)
    self.init(head: head, body: body)
  }

  /// Returns the record, stale if it was requested before `date`.
  fileprivate func stale(since date: Date) -> Record {
    guard head.requestedAt <= date, head.invalidatedAt == nil else { return self }
    var record = self
    record.head.invalidate(at: date)
    return record
  }
}

extension Record.Head {
  /// The value of `No-Vary-Search` of a response that may answer requests of other URLs: a success
  /// that says how long it is fresh.
  fileprivate var noVarySearch: NoVarySearch? {
    guard localModel == nil, isModel, let value = NoVarySearch(fields) else { return nil }
    let control = CacheControl(fields)
    return control.maxAge != nil || control.sharedMaxAge != nil || fields.contains(.expires) ? value : nil
  }

  /// Returns whether the response is more recent, by the server's clock or else by ours.
  fileprivate func isNewer(than other: Record.Head) -> Bool {
    if let date = date(.date), let others = other.date(.date), date != others { return date > others }
    return receivedAt > other.receivedAt
  }
}
