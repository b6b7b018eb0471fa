import Foundation
import ReactorCore

/// The state machine of a list: the loaded pages, the operation in progress, and its waiters.
///
/// Its methods return actions, which ``Pages`` performs without the lock. Operations run one after
/// the other, so that a list is always of one chain.
struct PageChain<Page: Sendable>: Sendable {
  /// The way to a page. Two resources of one key are one page.
  struct Link: Sendable {
    let resource: Resource
    let key: RecordKey
  }

  enum Due: Sendable {
    /// The first page has a newer answer.
    case renewal
    case invalidation
  }

  enum Operation: Sendable, Hashable {
    /// Load the first page, as the policy of the list says.
    case load
    /// Take the newer responses that arrived for pages, and fetch the pages that are due or belong
    /// to another chain.
    case followUp
    /// Fetch every loaded page.
    case refresh
    case next
    case previous
  }

  /// The outcome of an operation.
  enum Change: Sendable {
    case next(Slot)
    case previous(Slot)
    /// The window has these pages now. Without an error, all of them are new or confirmed. With
    /// `nextError`, the server does not have the page that the last one leads to.
    case window(Window, startsAnew: Bool = false, error: ReactorError? = nil, nextError: ReactorError? = nil)
    /// No page follows or precedes.
    case end
  }

  typealias Waiter = CheckedContinuation<Result<Bool, ReactorError>, Never>
  typealias Reader = CheckedContinuation<LoadState<PageList<Page>>?, Never>

  enum Action: Sendable {
    /// Run the operation in a task, and call ``finish(_:_:)`` with its outcome.
    case start(Operation, TaskHandle)
    /// Read the states of a resource in a task, and call ``receive(_:of:from:)`` with each.
    case follow(Resource, RecordKey?, isFirst: Bool, TaskHandle)
    case cancel(TaskHandle)
    case resume(Waiter, Result<Bool, ReactorError>)
    case deliver(Reader, LoadState<PageList<Page>>?)
  }

  struct Work: Sendable {
    let operation: Operation
    let task = TaskHandle(priority: nil)
    /// A Boolean value that indicates whether open streams want the operation, waiters or not.
    var isAutomatic = false
    var waiters: [(id: UInt64, waiter: Waiter)] = []
  }

  struct Followed: Sendable {
    /// A Boolean value that indicates whether it has the policy and the polling of the list.
    let isFirst: Bool
    let task: TaskHandle
    var latest: LoadState<Page>?
  }

  struct Stream: Sendable {
    var delivered: UInt64 = 0
    var reader: Reader?
  }

  let first: Resource
  /// The key of ``first``; `nil` if it cannot be requested.
  let firstKey: RecordKey?
  /// The number of pages that are held at most; at least two, so that a page can be turned.
  let limit: Int
  var window = Window()
  var running: Work?
  var queue: [Work] = []
  /// The stream of ``first`` while no page is held.
  var head: Followed?
  /// The pages whose streams have a response or an invalidation that the list has not processed
  /// yet.
  var news: Set<RecordKey> = []
  var streams: [UInt64: Stream] = [:]
  var error: ReactorError? { didSet { release(oldValue) } }
  var nextError: ReactorError? { didSet { release(oldValue) } }
  var previousError: ReactorError? { didSet { release(oldValue) } }
  var isRemoved = false
  /// A Boolean value that indicates whether the latest operation found every page unchanged.
  var isConfirmed = false
  private var revision: UInt64 = 1
  private var valueRevision: UInt64 = 0
  private var lastAsked: UInt64 = 0
  /// The number of times that everything was removed, as far as the list knows.
  var removals: UInt64
  private var released: [any Sendable] = []

  init(first: Resource, key: RecordKey?, limit: Int?, removals: UInt64) {
    self.first = first
    firstKey = key
    self.limit = max(2, limit ?? .max)
    self.removals = removals
  }
}

extension PageChain {
  mutating func nextAsked() -> UInt64 {
    lastAsked += 1
    return lastAsked
  }

  /// Keeps a value that the list holds no longer until ``Pages`` has unlocked: its `deinit` is the
  /// user's code, which may call the list.
  mutating func release<Value: Sendable>(_ value: Value?) {
    if let value { released.append(value) }
  }

  mutating func takeReleased() -> [any Sendable] {
    defer { released = [] }
    return released
  }
}

// States.
extension PageChain {
  var state: LoadState<PageList<Page>> {
    var list = PageList(window.pages, asked: window.asked)
    list.hasNext = leads(window.following)
    list.hasPrevious = leads(window.preceding)
    list.isLoadingNext = running?.operation == .next
    list.isLoadingPrevious = running?.operation == .previous
    (list.nextError, list.previousError) = (nextError, previousError)
    let first = window.slots.first
    let stream = first == nil ? head : first?.stream
    let latest = stream?.isFirst == true ? stream?.latest : nil
    let summary = window.summary
    var state = LoadState(
      value: first == nil ? nil : list, error: error ?? latest?.error, fetchStatus: status(latest),
      origin: first?.origin, fetchedAt: summary.fetchedAt, isStale: summary.isStale,
      progress: first == nil ? latest?.progress : nil, revision: revision,
      valueRevision: first == nil ? 0 : valueRevision)
    if state.fetchStatus == .paused, case .noConnectivity? = error { state.error = latest?.error }
    state.drafts = summary.drafts
    state.isRemoved = isRemoved && first == nil
    return state
  }

  private func leads(_ link: () throws(ReactorError) -> Link?) -> Bool {
    // An invalid link counts as a link: loading it throws the reason.
    do { return try link() != nil } catch { return true }
  }

  private func status(_ latest: LoadState<Page>?) -> FetchStatus {
    if latest?.fetchStatus == .paused { return .paused }
    switch running?.operation {
    case .load, .followUp, .refresh: return .fetching
    case .next, .previous, nil: return latest?.fetchStatus ?? .idle
    }
  }

  /// Publishes the current state as a new one to its readers.
  mutating func publish(hasNewValue: Bool) -> [Action] {
    revision += 1
    if hasNewValue { valueRevision = ValueRevision.next() }
    let waiting = streams.filter { $0.value.reader != nil }.keys.sorted()
    return waiting.flatMap { deliver(to: $0) }
  }

  mutating func deliver(to id: UInt64) -> [Action] {
    guard let stream = streams[id], let reader = stream.reader, stream.delivered < revision else { return [] }
    streams[id] = Stream(delivered: revision)
    return [.deliver(reader, state)]
  }
}
