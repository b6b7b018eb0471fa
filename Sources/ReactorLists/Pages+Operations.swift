import ReactorCore
import Synchronization

extension ReactorError {
  /// A Boolean value that indicates whether the server does not have the page any more.
  fileprivate var isGone: Bool {
    if case .server(let response, _) = self { return response.status == .notFound || response.status == .gone }
    return false
  }
}

// The operations.
extension Pages {
  func result(of operation: PageChain<Page>.Operation) async -> Result<PageChain<Page>.Change, ReactorError> {
    do {
      switch operation {
      case .load: return .success(.window([try await load(link(to: first), policy)]))
      case .next:
        guard let link = try chain.withLock({ chain throws(ReactorError) in try chain.following() }) else {
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

  /// The policy for a page that a follow-up asks for.
  private var followUpPolicy: FetchPolicy { policy == .cacheOnly ? .cacheOnly : .networkOnly }

  private func load(
    _ link: PageChain<Page>.Link, _ policy: FetchPolicy
  ) async throws(ReactorError) -> PageChain<Page>.Slot {
    let asked = chain.withLock { $0.nextAsked() }
    let page = try await reactor.fetchPage(link.resource, of: first, policy: policy)
    return PageChain<Page>.Slot(
      link: link, value: page.model, instance: page.instance, next: turn(turning.next, from: page, at: link.resource),
      previous: turn(turning.previous, from: page, at: link.resource), asked: asked, fetchedAt: page.fetchedAt,
      isStale: page.isStale, origin: page.origin)
  }

  private func turn(
    _ turn: PageTurning<Page>.Turn, from page: ModelResponse<Page>, at resource: Resource
  ) -> Result<PageChain<Page>.Link?, ReactorError> {
    do {
      guard let resource = try turn(page, resource, first) else { return .success(nil) }
      return .success(try link(to: resource))
    } catch {
      return .failure(error)
    }
  }

  private func link(to resource: Resource) throws(ReactorError) -> PageChain<Page>.Link {
    PageChain<Page>.Link(resource: resource, key: try reactor.key(of: resource))
  }

  private func turnBack() async throws(ReactorError) -> PageChain<Page>.Change {
    let (link, hasDropped, slots) = try chain.withLock { chain throws(ReactorError) in
      (try chain.preceding(), chain.hasDropped, chain.slots)
    }
    guard let link else { return .end }
    let slot = try await load(link, turningPolicy)
    guard hasDropped else { return .previous(slot) }
    if case .success(let next?) = slot.next, next.key == slots.first?.key { return .previous(slot) }
    // The page leads elsewhere since the limit dropped it: what is held is of another chain.
    return .window(try await fill(from: slot, count: slots.count))
  }

  /// Asks for the pages that are held: in a refresh for all, else for those that are due or of
  /// another chain.
  private func window(isRefresh: Bool) async throws(ReactorError) -> PageChain<Page>.Change {
    let old = chain.withLock(\.slots)
    guard let head = old.first else {
      return .window([try await load(link(to: first), isRefresh ? .networkOnly : .cacheOnly)])
    }
    var new: [PageChain<Page>.Slot] = []
    var isSame = true
    var link = head.link
    do {
      for index in old.indices {
        if isRefresh || !isSame {
          new.append(try await load(link, isRefresh ? .networkOnly : followUpPolicy))
        } else {
          new.append(try await followUp(old[index]))
        }
        guard index + 1 < old.count, let next = Self.next(in: new) else { break }
        if next.key != old[index + 1].key { isSame = false }
        link = next
      }
      return .window(new)
    } catch {
      if error.isGone, new.isEmpty, head.resource != first {
        // The window begins at a page that is gone, so the chain is another one.
        let slots = try await fill(from: try await load(self.link(to: first), .networkOnly), count: old.count)
        return .window(slots, startsAnew: true)
      }
      if case .cancelled = error { throw error }
      guard isSame, !new.isEmpty else { throw error }
      return .window(new + old[new.count...], error: error)
    }
  }

  /// Returns the latest answer for a page that is held, and asks for one if the page is due and
  /// nobody has asked since.
  private func followUp(_ old: PageChain<Page>.Slot) async throws(ReactorError) -> PageChain<Page>.Slot {
    do {
      var cached = try await load(old.link, .cacheOnly)
      let isNewer = cached.fetchedAt != old.fetchedAt
      if !isNewer { cached.asked = old.asked }
      switch old.due {
      case nil: return cached
      case .renewal where isNewer: return cached
      case .invalidation where isNewer && !cached.isStale: return cached
      case .renewal, .invalidation: break
      }
    } catch {
      // A response that may not be stored: memory does not show it to others.
      guard case .notCached = error else { throw error }
    }
    return try await load(old.link, followUpPolicy)
  }

  /// Returns the pages that follow `slot`, up to `count` with it.
  private func fill(from slot: PageChain<Page>.Slot, count: Int) async throws(ReactorError) -> [PageChain<Page>.Slot] {
    var new = [slot]
    while new.count < count, let next = Self.next(in: new) { new.append(try await load(next, .networkOnly)) }
    return new
  }

  /// Returns the page after the last one; `nil` at the end, and where a link leads back.
  private static func next(in slots: [PageChain<Page>.Slot]) -> PageChain<Page>.Link? {
    guard case .success(let next?)? = slots.last?.next, !slots.contains(where: { $0.key == next.key }) else {
      return nil
    }
    return next
  }
}
