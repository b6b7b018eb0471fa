import Foundation
import HTTPCaching
import HTTPTypes
import Synchronization

/// The changes that a server has told, for a part that listens to it.
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
    announce(.marked(Marked(change: ToldChange(set), number: number, date: date)))
  }

  /// Marks a change. A copy with the tag that its URL has now is not stale by this change, whenever
  /// it was requested.
  ///
  /// A change that this client has made is marked as of the answer to its write: what was requested
  /// since then has it.
  ///
  /// - Parameter id: the `Change-Id` of the write that has made the change, as the server tells it.
  package func mark(_ change: ToldChange, by id: String? = nil) {
    guard !change.tags.isEmpty || id != nil else { return mark(change.set) }
    if let own = id.flatMap(ownWrites.acceptance) {
      let isKnown = change.tags.allSatisfy { url, tag in holdsOnly(url, tag, own) }
      return mark(change, as: isKnown ? own.moment : nil, isKnown ? own : nil)
    }
    // Of servers that repeat no id, by the tag that the answer had.
    var (others, rest) = (change, KeySet(urls: change.set.urls))
    for (url, tag) in change.tags {
      guard change.set.hasURLsAlone, let own = ownWrites.acceptance(of: url, tag), holdsOnly(url, tag, own) else {
        continue
      }
      mark(ToldChange(KeySet(urls: [url]), tags: [url: tag]), as: own.moment, own)
      rest.remove(url: url)
      others.tags[url] = nil
    }
    if change.set.hasURLsAlone { others.set = rest }
    mark(others, as: nil)
  }

  /// Forgets the values of a URL that the server has told to be gone, as after a 410, in memory and
  /// on disk.
  ///
  /// A value that the program has saved stays.
  ///
  /// - Parameter id: the `Change-Id` of the write that has removed the resource.
  /// - Returns: `false` if a request or a write concerns them, if the write is this client's, or if
  ///   gone values are kept: then the server's answer decides, and nothing was forgotten.
  package func forgetGone(_ url: String, by id: String?) -> Bool {
    // What was requested since the answer to an own write may be newer than the removal.
    guard upstream == nil, configuration.removesGoneValues, id.flatMap(ownWrites.acceptance) == nil,
      livingMembers.allSatisfy({ $0.isQuiet(url) })
    else { return false }
    let error = ReactorError.server(HTTPResponse(status: .gone), body: Data())
    for key in Set(keys(of: url) + [key(ofURL: url)]).inOrder {
      let ticket = generations.beginFetch(key)
      announce(.gone(key, ticket.number, nil, error))
      presentation?.didReplace(key, ticket.number, of: nil, isOnDisk: false)
      guard cache.isPersistent else { continue }
      _ = spawnApart(on: configuration.taskExecutor) { [self] in
        do {
          try await change(ticket) { [cache] in
            // Memory need not have what the program has saved.
            if let record = try await cache.lookUp(key), record.head.isLocalWrite { return }
            guard ticket.commit() else { return }
            try await cache.remove(key)
            ticket.didPersist()
          }
        } catch {
          report(.saveFailed(ReactorError(error, wrap: ReactorError.persistence)), of: key, model: "ModelLayer")
        }
      }
    }
    return true
  }

  /// Returns `false` if the layer has another version of a URL than the one that an own write has
  /// made, and those from before the write. It may be older than the write, from a replica that
  /// lags.
  private func holdsOnly(_ url: String, _ tag: String, _ own: OwnWrites.Acceptance) -> Bool {
    copies(of: url).allSatisfy { version in
      guard let held = version.tag, version.number >= own.moment.number else { return true }
      return held == tag || own.url == url && own.older.contains(held)
    }
  }

  /// - Parameter moment: the number of the mark and its date; `nil` for now.
  func mark(_ change: ToldChange, as moment: Moment?, _ own: OwnWrites.Acceptance? = nil) {
    guard !change.set.isEmpty else { return }
    var held: [String: [String]] = [:]
    for url in change.tags.keys {
      // Since its answer, a copy may be newer than the write: what it was before is known.
      held[url] = own == nil ? copies(of: url).compactMap(\.tag) : own?.url == url ? own?.older : []
    }
    let marked = marks.add(
      change, held: held, as: moment.map { ($0.number, $0.date) }, at: configuration.now(), generations)
    announce(.marked(marked))
  }

  /// The versions that the layer's reactors have in memory of a URL.
  func copies(of url: String) -> [HeldVersion] { livingMembers.flatMap { $0.versions(of: url) } }

  /// A Boolean value that indicates whether what the layer shows of a key is a version from before
  /// the latest change, although it was requested after that: a replica of the server lags.
  package func isLagging(_ key: RecordKey) -> Bool {
    let tagged = copies(of: key.url).filter { $0.key == key }
    return tagged.contains { version in
      version.tag.map { marks.isLagging($0, of: key.url, requestedAs: version.number) } ?? false
    }
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

/// A moment in the order of a layer.
struct Moment: Sendable {
  let number: Generation
  let date: Date
}

/// A version of a resource that a reactor has in memory.
struct HeldVersion: Sendable {
  let key: RecordKey
  /// The strong entity tag; `nil` without one.
  let tag: String?
  let number: Generation
}

/// The shortest polling interval of the keys of a set.
struct PollingLimit: Sendable {
  var set: KeySet
  var interval: Duration
}
