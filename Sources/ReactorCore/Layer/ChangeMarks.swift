package import Foundation
import HTTPCaching
import Synchronization

/// The latest changes of a server that the layer has heard of. What was requested before a change
/// is stale, whether it arrives later or lies on disk.
///
/// A mark neither ends nor restarts a request: its response is committed and shown, and is stale.
final class ChangeMarks: Sendable {
  private struct Mark {
    var number: Generation
    var date: Date

    init(number: Generation, date: Date) { (self.number, self.date) = (number, date) }

    /// Creates the mark of what concerns one or the other.
    init(later one: Mark, _ other: Mark) {
      (number, date) = (max(one.number, other.number), max(one.date, other.date))
    }
  }

  private struct State {
    var groups: [String: Mark] = [:]
    var urls: [String: Mark] = [:]
    var paths: [String: Mark] = [:]
    var all: Mark?

    var dates: MarkDates {
      MarkDates(
        urls: urls.mapValues(\.date), paths: paths.mapValues(\.date), groups: groups.mapValues(\.date), all: all?.date)
    }

    /// Adds marks of an earlier process, unless this one has newer ones.
    mutating func add(_ dates: MarkDates, _ number: Generation) {
      func merge(_ marks: inout [String: Mark], _ dates: [String: Date]) {
        marks.merge(dates.mapValues { Mark(number: number, date: $0) }) { own, _ in own }
      }
      merge(&urls, dates.urls)
      merge(&paths, dates.paths)
      merge(&groups, dates.groups)
      all = all ?? dates.all.map { Mark(number: number, date: $0) }
    }

    /// The marks that concern a key.
    func marks(of key: RecordKey, _ groups: Set<String>) -> [Mark] {
      var found = [all, urls[key.url]].compactMap(\.self) + groups.compactMap { self.groups[$0] }
      for (path, mark) in paths where KeySet.isUnder(path, key.url) { found.append(mark) }
      return found
    }
  }

  private let state = Mutex(State())
  /// The number of the latest mark; zero before the first.
  private let latest = Atomic<Generation>(0)
  /// The marks that are kept of each kind. What a forgotten mark concerned cannot be told any more,
  /// so everything that is older counts as changed.
  private static let (limit, pathLimit) = (4_096, 64)

  /// Adds a mark under a number that is drawn for it.
  @discardableResult func add(_ set: KeySet, at date: Date, _ generations: Generations) -> Generation {
    guard !set.isEmpty else { return 0 }
    return state.withLock { state in
      // Drawn here, so that of two marks the later one is added later.
      let number = generations.next()
      let mark = Mark(number: number, date: date)
      for group in set.groups { state.groups[group] = mark }
      for url in set.urls { state.urls[url] = mark }
      for path in set.paths { state.paths[path] = mark }
      if set.isAll { state = State(all: mark) }
      var forgotten = Self.trim(&state.groups, to: Self.limit) + Self.trim(&state.urls, to: Self.limit)
      forgotten += Self.trim(&state.paths, to: Self.pathLimit)
      // The marks of an earlier process share a number, and one of a later number may have an
      // earlier date, since the clock was set back.
      for forgotten in forgotten { state.all = state.all.map { Mark(later: $0, forgotten) } ?? forgotten }
      latest.store(number, ordering: .releasing)
      return number
    }
  }

  /// The marks, for the next process.
  var dates: MarkDates { state.withLock(\.dates) }

  /// Adds the marks of an earlier process. Whatever this one requests from here on is newer.
  func add(_ dates: MarkDates, _ generations: Generations) {
    state.withLock { state in
      let number = generations.next()
      state.add(dates, number)
      latest.store(number, ordering: .releasing)
    }
  }

  /// Removes the marks. Call it before everything that was requested earlier is removed.
  func removeAll() { state.withLock { $0 = State() } }

  /// Removes the older half of `marks` beyond the limit, and returns it.
  private static func trim(_ marks: inout [String: Mark], to limit: Int) -> [Mark] {
    guard marks.count > limit else { return [] }
    let oldest = marks.sortedUnspecialized { ($0.value.number, $0.value.date) < ($1.value.number, $1.value.date) }
      .prefix(marks.count - limit / 2)
    for (name, _) in oldest { marks[name] = nil }
    return oldest.map(\.value)
  }

  /// Returns the date of the latest change of a key, or of one of `groups`, that came after
  /// `number`.
  func date(of key: RecordKey, _ groups: @autoclosure () -> Set<String>, after number: Generation) -> Date? {
    guard latest.load(ordering: .acquiring) > number else { return nil }
    let groups = groups()
    return state.withLock { $0.marks(of: key, groups).filter { $0.number > number }.map(\.date).max() }
  }

  /// Returns the date of the latest change of a key whose record was requested before it. A record
  /// whose request is in the future may be from before any change, since the clock was set back.
  func date(of key: RecordKey, _ head: Record.Head, at now: Date) -> Date? {
    guard latest.load(ordering: .acquiring) > 0 else { return nil }
    let groups = head.groups
    guard let date = state.withLock({ $0.marks(of: key, groups).map(\.date).max() }) else { return nil }
    return head.requestedAt <= date || head.requestedAt > now ? date : nil
  }
}

/// The dates of the latest changes that a layer has heard of: by URL, by path, by group, and of
/// everything.
package struct MarkDates: Sendable {
  package let (urls, paths, groups): ([String: Date], [String: Date], [String: Date])
  package let all: Date?

  package init(urls: [String: Date], paths: [String: Date], groups: [String: Date], all: Date?) {
    (self.urls, self.paths, self.groups, self.all) = (urls, paths, groups, all)
  }
}

extension Snapshot {
  /// Returns the snapshot, stale if the server has changed what it shows after its request.
  func marked(by marks: ChangeMarks, _ key: RecordKey, _ ticket: Generations.Ticket) -> Snapshot {
    guard let head, let date = marks.date(of: key, head.groups, after: ticket.sentNumber) else { return self }
    var snapshot = self
    snapshot.head?.invalidatedAt = date
    snapshot.record?.head.invalidatedAt = date
    return snapshot
  }
}

extension LayerContext {
  /// Marks stale what `set` has and was requested before now, in memory, on disk and on its way.
  ///
  /// Unlike an invalidation, a mark ends no request and starts none, so that a key that changes
  /// faster than it loads is shown all the same. Local values and drafts stay as they are. Records
  /// on disk are compared with the marks when they are loaded; nothing is written.
  package func mark(_ set: KeySet) {
    guard !set.isEmpty else { return }
    let date = configuration.now()
    // First: a response that arrives meanwhile finds it.
    let number = marks.add(set, at: date, generations)
    announce(.marked(set, number, date))
  }

  /// The marks so far. Records on disk that an earlier process has stored are compared with those
  /// that are added, by their dates.
  package var markDates: MarkDates { marks.dates }

  /// Adds the marks of an earlier process, before the first flight of this one.
  package func add(_ dates: MarkDates) { marks.add(dates, generations) }

  /// Returns the keys of `set` whose streams show a value that is known to be out of date, or have
  /// none yet.
  package func outdatedStreams(in set: KeySet) -> [RecordKey] {
    Set(livingMembers.flatMap { $0.outdatedStreams(in: set) }).inOrder
  }

  /// Requests a key for its streams, and waits for the response. A request under way is joined.
  ///
  /// - Throws: The error of the request.
  package func renew(_ key: RecordKey) async throws(ReactorError) {
    // A value that one reactor has fetched is loaded from disk by the others, or asked for again.
    var failure: ReactorError?
    for member in livingMembers where !member.outdatedStreams(in: KeySet(urls: [key.url])).isEmpty {
      do { try await member.renew(key) } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }

  /// A Boolean value that indicates whether a stream or an observer of the layer is open.
  package var isObserved: Bool { livingMembers.contains { $0.isObserved } }

  /// Creates the set of what `sets` name, by URL: a change of a resource concerns all its variants.
  package func set(of sets: [ResourceSet]) -> KeySet {
    var set = KeySet(sets) { resource throws(ReactorError) in try key(resource) }
    set.widenToURLs()
    return set
  }

  /// Polls the keys of `set` no more often than once in an interval, while changes are told by
  /// other means. With `nil`, each stream polls at its own interval.
  package func limitPolling(_ limit: (set: KeySet, interval: Duration)?) {
    pollingLimit.withLock { $0 = limit.map { PollingLimit(set: $0.set, interval: $0.interval) } }
    announce(.pollingLimited)
  }
}

/// The shortest polling interval of the keys of a set.
struct PollingLimit: Sendable {
  var set: KeySet
  var interval: Duration
}
