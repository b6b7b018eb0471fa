import Foundation
import Synchronization

/// Changes of the server that the layer has heard of by other means than a response.
extension EngineState {
  /// Marks stale the copies that lack a change. Flights go on, and nothing is requested.
  mutating func mark(_ marked: Marked) {
    let set = marked.change.set
    for entry in entries(in: set).sortedUnspecialized(by: { $0.key.identity < $1.key.identity }) {
      entry.invalidateVariants(at: marked.date) { marked.concerns($0) }
      if let copy = entry.copy, !copy.isLocal, marked.concerns(copy), copy.freshness.invalidatedAt == nil {
        setCopy(copy.invalidated(at: marked.date), of: entry)
        append(entry.key, .invalidated)
      }
      publishChanges(of: entry)
    }
  }

  /// Finds by URL what is named by URL: one event costs what it names, and not what is in memory.
  private mutating func entries(in set: KeySet) -> [Entry] {
    guard set.hasURLsAlone else { return memory.entries.values.filter { contains($0, in: set) } }
    return set.urls.flatMap { memory.entries(ofURL: $0) }
  }

  /// Returns the versions of a URL in memory. A version that one of them replaced has number zero.
  mutating func versions(of url: String) -> [HeldVersion] {
    memory.entries(ofURL: url).flatMap { entry in
      let replaced = entry.replacedTag.map { HeldVersion(key: entry.key, tag: $0, number: 0) }
      return [replaced].compactMap(\.self)
        + entry.copies.filter { !$0.isLocal }.map {
          HeldVersion(key: entry.key, tag: $0.head?.strongTag, number: $0.generation)
        }
    }
  }

  func contains(_ entry: Entry, in set: KeySet) -> Bool {
    set.contains(entry.key)
      || !set.groups.isEmpty
        && (set.contains(groups: entry.copy?.head?.groups ?? [])
          || entry.use.aliases.contains { set.contains(groups: $0.groups) })
  }

  /// Returns the keys of `set` whose streams show a value that is known to be out of date, or have
  /// none yet.
  mutating func outdatedStreams(in set: KeySet) -> [RecordKey] {
    entries(in: set).filter { entry in
      guard !entry.subscribers.isEmpty, !entry.isForgotten else { return false }
      return entry.subscribers.all.contains { isOutdated($0, entry) }
    }.map(\.key)
  }

  private func isOutdated(_ subscriber: Subscriber, _ entry: Entry) -> Bool {
    guard subscriber.policy != .cacheOnly else { return false }
    // A response on its way may be from before the change.
    guard let copy = entry.copy(for: subscriber) else { return entry.error != nil || entry.flight != nil }
    return copy.freshness.invalidatedAt != nil && !copy.isLocal
  }

  /// Returns the resources of a key whose streams are out of date: one for each variant.
  func outdatedResources(of key: RecordKey) -> [Resource] {
    guard let entry = memory.entries[key] else { return [] }
    return entry.subscribers.all.filter { isOutdated($0, entry) }.reduce(into: []) { resources, subscriber in
      if !resources.contains(where: { $0.headers == subscriber.resource.headers }) {
        resources.append(subscriber.resource)
      }
    }
  }

  /// Moves the next polls, since their intervals may be others.
  mutating func pollingLimited() {
    for entry in memory.entriesInOrder where entry.pollers > 0 {
      entry.wakeupIsOutdated = true
      setWakeup(entry)
    }
  }
}

extension CachedModel {
  /// A Boolean value that indicates whether the program wrote the value, in this process or before.
  var isLocal: Bool { origin == .local || head?.localModel != nil }
}

extension ReactorEngine {
  func outdatedStreams(in set: KeySet) -> [RecordKey] { state.withLock { $0.outdatedStreams(in: set) } }

  func versions(of url: String) -> [HeldVersion] { state.withLock { $0.versions(of: url) } }

  var isObserved: Bool { state.withLock { $0.subscriberCount > 0 } }

  func renew(_ key: RecordKey) async throws(ReactorError) {
    var failure: ReactorError?
    for resource in state.withLock({ $0.outdatedResources(of: key) }) {
      do { _ = try await fetch(resource, .networkOnly) } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }
}
