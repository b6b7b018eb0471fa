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
    /// The known entity tags of the URL; `nil` after a change without one.
    var tags: ToldTags?

    init(number: Generation, date: Date) { (self.number, self.date) = (number, date) }

    /// Creates the mark of what concerns one or the other.
    init(later one: Mark, _ other: Mark) {
      (number, date) = (max(one.number, other.number), max(one.date, other.date))
    }

    /// Returns the date of the change that a response lacks; `nil` if it has it.
    ///
    /// - Parameters:
    ///   - tag: the strong entity tag of the response.
    ///   - isBefore: returns `true` if the response was requested before a change.
    func missed(by tag: String?, _ isBefore: (Generation, Date) -> Bool) -> Date? {
      guard let tag, let tags else { return isBefore(number, date) ? date : nil }
      // Whenever it was requested: a replica has sent a version from before the change.
      if tags.older.contains(tag) { return date }
      guard tag == tags.current else { return isBefore(number, date) ? date : nil }
      return tags.before.flatMap { isBefore($0.number, $0.date) ? $0.date : nil }
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

    /// Notes the tag of a version that was requested before the latest change.
    mutating func learn(_ tag: String, of url: String) { urls[url]?.tags?.add([tag]) }

    /// Forgets the oldest marks beyond the limits.
    mutating func trim() {
      var forgotten = ChangeMarks.trim(&groups, to: ChangeMarks.limit) + ChangeMarks.trim(&urls, to: ChangeMarks.limit)
      forgotten += ChangeMarks.trim(&paths, to: ChangeMarks.pathLimit)
      // The marks of an earlier process share a number, and one of a later number may have an
      // earlier date, since the clock was set back.
      for mark in forgotten {
        all = all.map { Mark(later: $0, mark) } ?? Mark(number: mark.number, date: mark.date)
      }
    }

    /// The marks that concern a key. After a later change that was told without a tag, any version
    /// of the URL may be the current one.
    func marks(of key: RecordKey, _ groups: Set<String>) -> [Mark] {
      var found = [all].compactMap(\.self) + groups.compactMap { self.groups[$0] }
      for (path, mark) in paths where KeySet.isUnder(path, key.url) { found.append(mark) }
      guard var own = urls[key.url] else { return found }
      if found.contains(where: { $0.number > own.number }) { own.tags = nil }
      return found + [own]
    }
  }

  private let state = Mutex(State())
  /// The number of the latest mark; zero before the first.
  private let latest = Atomic<Generation>(0)
  /// A Boolean value that indicates whether a change was told with an entity tag.
  private let knowsTags = Atomic<Bool>(false)
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
      state.trim()
      latest.store(number, ordering: .releasing)
      return number
    }
  }

  /// Adds the mark of a change that was told with entity tags, or whose number was drawn before.
  ///
  /// - Parameters:
  ///   - held: the strong tags of the copies that the layer has, by URL.
  ///   - number: the number of the mark and its date; `nil` to draw one. A mark of a later number
  ///     stays.
  func add(
    _ change: ToldChange, held: [String: [String]], as number: (Generation, Date)?, at date: Date,
    _ generations: Generations
  ) -> Marked {
    guard !change.set.isEmpty else { return Marked(change: change, number: 0, date: date) }
    return state.withLock { state in
      let (number, date) = number ?? (generations.next(), date)
      var marked = Marked(change: change, number: number, date: date)
      let mark = Mark(number: number, date: date)
      if change.set.isAll { state.all = state.all.map { Mark(later: $0, mark) } ?? mark }
      for group in change.set.groups where state.groups[group]?.number ?? 0 < number { state.groups[group] = mark }
      for path in change.set.paths where state.paths[path]?.number ?? 0 < number { state.paths[path] = mark }
      for url in change.set.urls {
        let mark = Self.next(after: state.urls[url], mark, of: change, url, held[url] ?? [])
        state.urls[url] = mark
        if let older = mark.tags?.older, !older.isEmpty { marked.older[url] = Set(older) }
      }
      state.trim()
      if !change.tags.isEmpty { knowsTags.store(true, ordering: .releasing) }
      latest.store(max(latest.load(ordering: .relaxed), number), ordering: .releasing)
      return marked
    }
  }

  /// Returns the mark of a URL after a change.
  private static func next(
    after old: Mark?, _ new: Mark, of change: ToldChange, _ url: String, _ held: [String]
  ) -> Mark {
    var mark = new
    let from = [change.from].compactMap(\.self)
    let held = from + held
    guard let tag = change.tags[url] else { return old.map { $0.number > new.number ? $0 : new } ?? new }
    guard let old else {
      mark.tags = ToldTags(current: tag, held: held)
      return mark
    }
    guard old.number <= new.number else {
      // A later change was told already. A version that this client has written may be from after
      // it.
      mark = old
      if change.isInOrder { mark.tags?.add(from + [tag]) } else { mark.tags?.forget(tag) }
      return mark
    }
    if var tags = old.tags, tags.current == tag {
      tags.add(held)
      mark.tags = tags
    } else {
      mark.tags = ToldTags(current: tag, held: held, before: (old.number, old.date), old.tags)
    }
    return mark
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

  /// Returns `true` if a tag belongs to a version from before the latest change, although the copy
  /// was requested after that.
  func isLagging(_ tag: String, of url: String, requestedAs number: Generation) -> Bool {
    guard knowsTags.load(ordering: .acquiring) else { return false }
    return state.withLock { state in
      guard let mark = state.urls[url] else { return false }
      return mark.number <= number && mark.tags?.older.contains(tag) == true
    }
  }

  /// Removes the older half of `marks` beyond the limit, and returns it.
  private static func trim(_ marks: inout [String: Mark], to limit: Int) -> [Mark] {
    guard marks.count > limit else { return [] }
    let oldest = marks.sortedUnspecialized { ($0.value.number, $0.value.date) < ($1.value.number, $1.value.date) }
      .prefix(marks.count - limit / 2)
    for (name, _) in oldest { marks[name] = nil }
    return oldest.map(\.value)
  }

  /// Returns the date of the latest change of a key, or of one of `groups`, that a response lacks.
  ///
  /// - Parameters:
  ///   - tag: the strong entity tag of the response.
  ///   - number: the number of its request.
  func date(
    of key: RecordKey, _ tag: String?, _ groups: @autoclosure () -> Set<String>, after number: Generation
  ) -> Date? {
    guard latest.load(ordering: .acquiring) > number || tag != nil && knowsTags.load(ordering: .acquiring) else {
      return nil
    }
    let groups = groups()
    return state.withLock { state in
      let date = state.marks(of: key, groups).compactMap { $0.missed(by: tag) { mark, _ in mark > number } }.max()
      if let tag, date != nil, let mark = state.urls[key.url], mark.number > number { state.learn(tag, of: key.url) }
      return date
    }
  }

  /// Returns the date of the latest change of a key that a record lacks, since it was requested
  /// before. A record whose request is in the future may be from before any change, since the clock
  /// was set back.
  func date(of key: RecordKey, _ head: Record.Head, at now: Date) -> Date? {
    guard latest.load(ordering: .acquiring) > 0 else { return nil }
    let (groups, tag) = (head.groups, head.strongTag)
    return state.withLock { state in
      let isBefore = { (date: Date) in head.requestedAt <= date || head.requestedAt > now }
      let date = state.marks(of: key, groups).compactMap { mark in mark.missed(by: tag) { isBefore($1) } }.max()
      if let tag, let mark = state.urls[key.url], isBefore(mark.date) { state.learn(tag, of: key.url) }
      return date
    }
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
