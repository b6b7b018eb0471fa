import ReactorCore
import Synchronization

// The operations.
extension Pages {
  typealias Chain = PageChain<Page>

  func result(of operation: Chain.Operation) async -> Result<Chain.Change, ReactorError> {
    do {
      switch operation {
      case .load: return .success(.window(Chain.Window([try await load(link(to: first), policy)])))
      case .next:
        guard let link = try chain.withLock({ chain throws(ReactorError) in try chain.window.following() }) else {
          return .success(.end)
        }
        return .success(.next(try await load(link, turningPolicy)))
      case .previous: return .success(try await turnBack())
      case .followUp: return .success(try await window(isRefresh: false))
      case .refresh: return .success(try await window(isRefresh: true))
      }
    } catch {
      return .failure(error)
    }
  }

  /// The policy for a page that is turned to.
  private var turningPolicy: FetchPolicy { policy == .staleWhileRevalidate ? .cacheFirst : policy }

  /// The policy for a page that a follow-up requests.
  private var followUpPolicy: FetchPolicy { policy == .cacheOnly ? .cacheOnly : .networkOnly }

  private func load(
    _ link: Chain.Link, _ policy: FetchPolicy, isUnconditional: Bool = false
  ) async throws(ReactorError) -> Chain.Slot {
    let asked = chain.withLock { $0.nextAsked() }
    let state = try await reactor.fetchState(link.resource, policy: policy, isUnconditional: isUnconditional)
    guard let slot = try slot(of: state, at: link, asked: asked) else { throw .notCached }
    return slot
  }

  /// Returns the page that a state shows; `nil` if it shows no answer.
  private func slot(
    of state: LoadState<Page>, at link: Chain.Link, asked: UInt64
  ) throws(ReactorError) -> Chain.Slot? {
    guard let value = state.value, let instance = state.instance, let fetchedAt = state.fetchedAt,
      let page = try reactor.page(in: state, of: link.resource, first)
    else { return nil }
    return Chain.Slot(
      link: link, value: value, instance: instance, next: turn(turning.next, from: page, at: link.resource),
      previous: turn(turning.previous, from: page, at: link.resource), asked: asked, fetchedAt: fetchedAt,
      isStale: state.isStale, origin: page.origin, drafts: state.drafts, revision: state.revision)
  }

  private func turn(
    _ turn: PageTurning<Page>.Turn, from page: ModelResponse<Page>, at resource: Resource
  ) -> Result<Chain.Link?, ReactorError> {
    do {
      guard let resource = try turn(page, resource, first) else { return .success(nil) }
      return .success(try link(to: resource))
    } catch {
      return .failure(error)
    }
  }

  private func link(to resource: Resource) throws(ReactorError) -> Chain.Link {
    Chain.Link(resource: resource, key: try reactor.key(of: resource))
  }

  private func turnBack() async throws(ReactorError) -> Chain.Change {
    let (link, hasDropped, count, head) = try chain.withLock { chain throws(ReactorError) in
      let window = chain.window
      return (try window.preceding(), !window.earlier.isEmpty, window.count, window.slots.first?.key)
    }
    guard let link else { return .end }
    let slot = try await load(link, turningPolicy)
    guard hasDropped else { return .previous(slot) }
    if case .success(let next?) = slot.next, next.key == head { return .previous(slot) }
    // The page links elsewhere since the limit dropped it, so the held pages belong to another
    // chain.
    return try await fill(Chain.Window([slot]), count: count)
  }

  /// Fetches the loaded pages: all of them in a refresh, else the pages that are due or belong to
  /// another chain.
  private func window(isRefresh: Bool) async throws(ReactorError) -> Chain.Change {
    let (old, nextError, firstKey) = chain.withLock { ($0.window, $0.nextError, $0.firstKey) }
    guard let head = old.slots.first else { return try await firstPage(isRefresh: isRefresh) }
    var new = Chain.Window()
    var isSame = true
    var link = head.link
    do {
      for index in old.indices {
        if isRefresh || !isSame {
          let hidesNext = isRefresh && isSame && mayHideNext(old[index])
          new.append(try await load(link, isRefresh ? .networkOnly : followUpPolicy, isUnconditional: hidesNext))
        } else {
          new.append(try await followUp(old[index]))
        }
        guard index + 1 < old.count, let next = Self.next(in: new) else { break }
        if next.key != old[index + 1].key { isSame = false }
        link = next
      }
    } catch {
      if error.isGone, !new.isEmpty || head.key != firstKey { return try await without(error, after: new, old.count) }
      if case .cancelled = error { throw error }
      guard isSame, !new.isEmpty else { throw error }
      for slot in old.slots[new.count...] { new.append(slot) }
      return .window(new, error: error)
    }
    // The last page was confirmed, with the link that is of the past.
    if let nextError, nextError.isGone, new.leadsToSame(as: old) {
      return try await without(nextError, after: new, old.count)
    }
    return .window(new)
  }

  /// Returns `true` if a 304 for a page may hide that the list has grown behind it.
  private func mayHideNext(_ slot: Chain.Slot) -> Bool {
    guard turning.dependsOnFields, case .success(nil) = slot.next else { return false }
    return true
  }

  /// Continues after `kept` where the server does not have the page that follows.
  ///
  /// The page before it is requested without validators, since a 304 keeps the link of its stored
  /// response. The page that it links to now follows. If that is the missing page, the list ends
  /// there, and ``PageList/nextError`` says why. If that page is gone too, the page before it is
  /// requested.
  private func without(
    _ error: ReactorError, after kept: Chain.Window, _ count: Int
  ) async throws(ReactorError) -> Chain.Change {
    var (slots, failure) = (kept.slots, error)
    while let last = slots.popLast() {
      do {
        let slot = try await load(last.link, .networkOnly, isUnconditional: true)
        let new = Chain.Window(slots + [slot])
        guard !Chain.Window([slot]).leadsToSame(as: Chain.Window([last])) else {
          return .window(new, nextError: failure)
        }
        return try await fill(new, count: count)
      } catch {
        guard error.isGone else { throw error }
        failure = error
      }
    }
    // The first page of the list, which the server has answered a moment ago with the same.
    if kept.slots.first?.key == chain.withLock(\.firstKey) { throw failure }
    return try await anew(count: count)
  }

  private func firstPage(isRefresh: Bool) async throws(ReactorError) -> Chain.Change {
    let link = try link(to: first)
    if isRefresh {
      // It is not known yet whether the stored response is the last of the list.
      return .window(
        Chain.Window([try await load(link, .networkOnly, isUnconditional: turning.dependsOnFields)]))
    }
    let (latest, asked) = chain.withLock { ($0.head?.latest, $0.nextAsked()) }
    guard let latest, let slot = try slot(of: latest, at: link, asked: asked) else { return .end }
    return .window(Chain.Window([slot]))
  }

  /// Asks for as many pages as were held, from the first one on, without validators.
  private func anew(count: Int) async throws(ReactorError) -> Chain.Change {
    let slot = try await load(link(to: first), .networkOnly, isUnconditional: true)
    return try await fill(Chain.Window([slot]), count: count, startsAnew: true)
  }

  /// Returns the newest response for a loaded page, and fetches one if the page is due and was not
  /// fetched since.
  ///
  /// The response comes from the page's stream. A response that must not be stored is only there,
  /// and not in memory.
  private func followUp(_ old: Chain.Slot) async throws(ReactorError) -> Chain.Slot {
    let (latest, asked) = chain.withLock { ($0.latest(of: old.key), $0.nextAsked()) }
    if let latest, old.isOvertaken(by: latest), old.due != .invalidation || !latest.isInvalidated,
      let newer = try slot(of: latest, at: old.link, asked: asked)
    {
      return newer
    }
    return old.due == nil || policy == .cacheOnly ? old : try await load(old.link, followUpPolicy)
  }

  /// Returns `window` with the pages that follow it, up to `count`. No request has validators.
  private func fill(
    _ window: Chain.Window, count: Int, startsAnew: Bool = false
  ) async throws(ReactorError) -> Chain.Change {
    var new = window
    while new.count < count, let next = Self.next(in: new) {
      do {
        new.append(try await load(next, .networkOnly, isUnconditional: true))
      } catch {
        guard error.isGone else { throw error }
        return .window(new, startsAnew: startsAnew, nextError: error)
      }
    }
    return .window(new, startsAnew: startsAnew)
  }

  /// Returns the way to the page after the last one; `nil` at the end, and where a link leads back
  /// or cannot be followed.
  private static func next(in window: Chain.Window) -> Chain.Link? {
    do { return try window.following() } catch { return nil }
  }
}
