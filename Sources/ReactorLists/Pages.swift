import Foundation
public import ReactorCore
import Synchronization

extension Reactor {
  /// Returns a list that comes in pages, each a resource of its own: cached, revalidated and saved
  /// as any other.
  ///
  /// ```swift
  /// let feed = posts.pages(from: "feed", limit: 5)
  /// let screen = LiveResource(feed)
  /// ```
  ///
  /// Nothing is fetched before a method of the list is called or its states are read. Keep the list
  /// as long as the screen: two lists of one resource share requests and records, but not a window.
  ///
  /// - Parameters:
  ///   - first: The resource of the first page.
  ///   - turning: The way to the next and previous page. Default: the links of each response.
  ///   - limit: The number of pages that are held at most, at least two. When one more is loaded,
  ///     the page at the other end goes, and comes back from disk. `nil`, the default, holds all.
  ///   - policy: The policy of the first page. A page that is turned to comes from memory or disk
  ///     while it is fresh, with `FetchPolicy.cacheOnly` always, and with the policies that ask the
  ///     network first from there.
  ///   - interval: The interval at which the first page is polled while states are read, as in
  ///     `states(for:policy:polling:)`; the pages behind it follow. Default: no polling.
  public func pages(
    from first: Resource, by turning: PageTurning<Model> = .link, limit: Int? = nil,
    policy: FetchPolicy = .staleWhileRevalidate, polling interval: Duration = .never
  ) -> Pages<Model> {
    Pages(self, first, turning, limit: limit, policy, polling: interval)
  }
}

/// A list that comes in pages; see ``ReactorCore/Reactor/pages(from:by:limit:policy:polling:)``.
///
/// The pages that are held are of one chain: each is the one that the page before it leads to.
/// Operations run one after the other. A page that fails leaves the list as it was, and the next
/// attempt goes on there. After `removeAll()` or a sign-out, the list has no value.
///
/// You can call every method from any isolation. Nothing runs on the caller's actor.
public final class Pages<Page: Sendable>: Sendable {
  let reactor: Reactor<Page>
  let first: Resource
  let turning: PageTurning<Page>
  let policy: FetchPolicy
  let interval: Duration
  let chain: Mutex<PageChain<Page>>
  private let lastID = Atomic<UInt64>(0)

  init(
    _ reactor: Reactor<Page>, _ first: Resource, _ turning: PageTurning<Page>, limit: Int?, _ policy: FetchPolicy,
    polling interval: Duration
  ) {
    self.reactor = reactor
    self.first = first
    self.turning = turning
    self.policy = policy
    self.interval = interval
    let key = try? reactor.key(of: first)
    chain = Mutex(PageChain(first: first, key: key, limit: limit, removals: reactor.removals))
  }

  /// The states of the list: the current one, and each later change.
  ///
  /// While they are read, the list follows its pages: drafts and local values show at once, and an
  /// invalidated page or a new answer for one makes the list refresh. `LoadState.valueRevision`
  /// grows only if pages, errors or loading flags change; a refresh that confirms all pages makes
  /// no new value.
  public var states: PageStates<Page> { PageStates(pages: self) }

  /// Loads the first page if none is held, as the policy of the list says, and returns the list.
  ///
  /// ```swift
  /// let list = try await pages.fetch()
  /// ```
  ///
  /// - Throws: `ReactorError.cancelled` as soon as the caller is cancelled, or the error of the
  ///   fetch. The request is cancelled when nobody else waits for it or reads the states.
  @discardableResult
  public func fetch() async throws(ReactorError) -> PageList<Page> {
    look()
    if let list = states.current.value { return list }
    _ = try await perform(.load)
    guard let list = states.current.value else { throw .notCached }
    return list
  }

  /// Loads the page after the last one held; without a page, the first one.
  ///
  /// ```swift
  /// while try await pages.loadNext() {}
  /// ```
  ///
  /// Concurrent calls load one page. A call during a refresh waits for its end.
  ///
  /// - Returns: `false` at the end of the list.
  /// - Throws: The errors of ``fetch()``, and `ReactorError.invalidResource` for a link that cannot
  ///   be followed. ``PageList/nextError`` has the error too.
  @discardableResult
  public func loadNext() async throws(ReactorError) -> Bool { try await perform(.next) }

  /// Loads the page before the first one held; without a page, the first one.
  ///
  /// - Returns: `false` if no page precedes.
  /// - Throws: The errors of ``loadNext()``. ``PageList/previousError`` has the error too.
  @discardableResult
  public func loadPrevious() async throws(ReactorError) -> Bool { try await perform(.previous) }

  /// Asks the network for every page that is held, the first one first.
  ///
  /// ```swift
  /// List(feed.value?.members ?? []) { Text($0.title) }
  ///   .refreshable { try? await pages.refresh() }
  /// ```
  ///
  /// While each page leads to the one that it led to, the others stay: unchanged pages cost a 304
  /// each. Where a link has changed, the pages behind it are of another chain. They are replaced by
  /// those of the new chain, as many as there were. The list changes at the end, at once.
  ///
  /// If the server does not have a page any more, the page before it is asked for without
  /// validators, since a 304 keeps the link of its stored response. What it leads to now follows.
  /// The end of a list by links is asked for without validators too: a 304 may hide that it has
  /// grown.
  ///
  /// A cancelled caller returns at once. The refresh goes on while the states are read.
  ///
  /// - Throws: The errors of ``fetch()``. If a page fails before a link has changed, the pages
  ///   before it are new, and the others as they were; after it, all are as they were.
  public func refresh() async throws(ReactorError) { _ = try await perform(.refresh) }

  /// Marks every page that is held stale, in memory and on disk. A list whose states are read
  /// refreshes.
  ///
  /// ```swift
  /// await pages.invalidate()
  /// ```
  public func invalidate() async {
    let resources = chain.withLock { $0.window.slots.map(\.resource) }
    for resource in resources.isEmpty ? [first] : resources { await reactor.invalidate(resource) }
  }
}

extension Pages {
  func current() -> LoadState<PageList<Page>> {
    // Without readers, nothing tells the list that everything was removed.
    change { _ in [] }
    return chain.withLock(\.state)
  }

  /// Shows what drafts and entities have made of the pages since they were loaded. Without readers,
  /// nothing tells the list.
  private func look() {
    let unread = chain.withLock { $0.streams.isEmpty ? $0.window.slots.map(\.link) : [] }
    guard !unread.isEmpty else { return }
    let found = unread.compactMap { link in
      reactor.shown(link.resource).map { (key: link.key, state: $0.state, instance: $0.instance) }
    }
    change { $0.look(at: found) }
  }

  func subscribe() -> UInt64 {
    let id = nextID()
    change { $0.subscribe(id) }
    return id
  }

  func unsubscribe(_ id: UInt64) { change { $0.unsubscribe(id) } }

  func next(_ id: UInt64) async -> LoadState<PageList<Page>>? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        change { $0.next(id, continuation) }
        if Task.isCancelled { unsubscribe(id) }
      }
    } onCancel: {
      unsubscribe(id)
    }
  }

  private func nextID() -> UInt64 { lastID.add(1, ordering: .relaxed).newValue }

  private func perform(_ operation: PageChain<Page>.Operation) async throws(ReactorError) -> Bool {
    guard !Task.isCancelled else { throw .cancelled }
    let id = nextID()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        change { $0.request(operation, (id, continuation)) }
        // The cancellation handler may have run before the caller was entered.
        if Task.isCancelled { change { $0.leave(id) } }
      }
    } onCancel: {
      change { $0.leave(id) }
    }
    return try result.get()
  }

  private func change(_ body: (inout PageChain<Page>) -> [PageChain<Page>.Action]) {
    let removals = reactor.removals
    let (actions, released) = chain.withLock { chain in
      (chain.forget(removals: removals) + body(&chain), chain.takeReleased())
    }
    // Released after the unlock, since that may run a user's code.
    withExtendedLifetime(released) {
      for action in actions { run(action) }
    }
  }

  private func run(_ action: PageChain<Page>.Action) {
    switch action {
    case .resume(let waiter, let result): waiter.resume(returning: result)
    case .deliver(let reader, let state): reader.resume(returning: state)
    case .cancel(let task): task.cancel()
    case .start(let operation, let task):
      task.attach(
        spawn(on: reactor.taskExecutor, for: LockOwner.current) {
          let result = await self.result(of: operation)
          self.change { $0.finish(task, result) }
        })
    case .follow(let resource, let key, let isFirst, let task): follow(resource, key, isFirst: isFirst, task)
    }
  }

  private func follow(_ resource: Resource, _ key: RecordKey?, isFirst: Bool, _ task: TaskHandle) {
    let states =
      isFirst
      ? reactor.states(for: resource, policy: policy, polling: interval)
      : reactor.states(for: resource, policy: .cacheOnly)
    // It subscribes here, so that the first fetch of the list joins the request of the stream.
    let iterator = SendingBox(states.makeAsyncIterator())
    task.attach(
      spawn(on: reactor.taskExecutor, for: LockOwner.current) {
        guard var iterator = iterator.take() else { return }
        while let state = await iterator.next(isolation: nil), !Task.isCancelled {
          self.change { $0.receive(state, of: key, from: task) }
        }
      })
  }
}
