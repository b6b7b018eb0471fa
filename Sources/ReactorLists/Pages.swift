import Foundation
public import ReactorCore
import Synchronization

extension Reactor {
  /// Returns a list that comes in pages. Each page is a resource, which is cached, revalidated and
  /// saved as any other.
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
  ///   - limit: The largest number of loaded pages, at least two. Loading one more drops the page
  ///     at the other end, which ``Pages/loadPrevious()`` or ``Pages/loadNext()`` loads again.
  ///     Default: `nil`, no limit.
  ///   - policy: The policy of the first page. Other pages come from memory or disk while they are
  ///     fresh. With `FetchPolicy.cacheOnly` they always do, and with the policies that ask the
  ///     network first, they come from the network.
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
/// ```swift
/// let pages = stories.pages(from: "stories")
/// try await pages.fetch()
/// while try await pages.loadNext() {}  // all of them
/// ```
///
/// The loaded pages are a chain: each is the page that the one before it links to.
/// Operations run one after the other. If a page fails, the list is unchanged, and the next attempt
/// continues there. After `removeAll()` or a sign-out, the list has no value.
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
  /// ```swift
  /// for await state in pages.states {
  ///   show(state.value?.members ?? [], error: state.error)
  /// }
  /// ```
  ///
  /// While they are read, the list follows its pages: drafts and local values show at once, and an
  /// invalidated page or a new answer for one makes the list refresh. `LoadState.valueRevision`
  /// grows only if pages, errors or loading flags change; a refresh that confirms all pages makes
  /// no new value.
  public var states: PageStates<Page> { PageStates(pages: self) }

  /// Returns the list, and loads the first page if no page is loaded, as the policy of the list
  /// says.
  ///
  /// ```swift
  /// let list = try await pages.fetch()
  /// ```
  ///
  /// - Throws: `ReactorError.cancelled` as soon as the caller is cancelled, or the error of the
  ///   fetch. The request is cancelled when no other caller waits for it and no reader has the
  ///   states.
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

  /// Fetches every loaded page from the network, in order.
  ///
  /// ```swift
  /// List(feed.value?.members ?? []) { Text($0.title) }
  ///   .refreshable { try? await pages.refresh() }
  /// ```
  ///
  /// While the links stay the same, an unchanged page costs a 304. If a link has changed, the pages
  /// behind it belong to another chain, and as many pages of the new chain replace them. The list
  /// changes once, at the end.
  ///
  /// If the server no longer has a page, the page before it is fetched without validators, since a
  /// 304 keeps the link of its stored response. The list continues at its new link. If links show
  /// the end of the list, its last page is fetched without validators too: with a 304, a new next
  /// page would be missed.
  ///
  /// A cancelled caller returns at once. The refresh continues while the states are read.
  ///
  /// - Throws: The errors of ``fetch()``. If a page fails before a link has changed, the pages
  ///   before it are new and the others unchanged. If it fails afterwards, all are unchanged.
  public func refresh() async throws(ReactorError) { _ = try await perform(.refresh) }

  /// Marks every loaded page stale, in memory and on disk. If the states of the list are read, the
  /// list refreshes.
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
    // Without readers, the list is not notified that everything was removed.
    change { _ in [] }
    return chain.withLock(\.state)
  }

  /// Shows the pages with the drafts and entities that have changed since they were loaded. Without
  /// readers, the list is not notified of those.
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
