import Foundation
import ReactorCore

/// The state machine of a list: the pages that are held, the operation under way, and those who
/// wait.
///
/// Its methods return actions, which ``Pages`` performs without the lock. Operations run one after
/// the other, so that a list is always of one chain.
struct PageChain<Page: Sendable>: Sendable {
  /// The way to a page. Two resources of one key are one page.
  struct Link: Sendable {
    let resource: Resource
    let key: RecordKey
  }

  /// A page that is held.
  struct Slot: Sendable {
    let link: Link
    var resource: Resource { link.resource }
    var key: RecordKey { link.key }
    var value: Page
    /// The instance that holds the answer's model, which a 304 keeps.
    let instance: any AnyObject & Sendable
    /// The pages that this one leads to, or the error of a link that cannot be followed.
    let next: Result<Link?, ReactorError>
    let previous: Result<Link?, ReactorError>
    /// The number of the request for the page; a page that was asked for later has a higher one.
    var asked: UInt64
    var fetchedAt: Date
    var isStale: Bool
    var origin: Origin
    var drafts: [UUID] = []
    /// The reason why the next follow-up asks for the page; `nil` if there is none.
    var due: Due?
  }

  enum Due: Sendable {
    /// The first page has a newer answer.
    case renewal
    case invalidation
  }

  enum Operation: Sendable, Hashable {
    /// Load the first page, as the policy of the list says.
    case load
    /// Take the newer answers that there are for pages, and ask for those that are due or of
    /// another chain.
    case followUp
    /// Ask for every page that is held.
    case refresh
    case next
    case previous
  }

  /// The outcome of an operation.
  enum Change: Sendable {
    case next(Slot)
    case previous(Slot)
    /// The window has these pages now. Without an error, all of them are new or confirmed.
    case window([Slot], startsAnew: Bool = false, error: ReactorError? = nil)
    /// No page follows or precedes.
    case end
  }

  typealias Waiter = CheckedContinuation<Result<Bool, ReactorError>, Never>
  typealias Reader = CheckedContinuation<LoadState<PageList<Page>>?, Never>

  enum Action: Sendable {
    /// Run the operation in a task, and call ``finish(_:_:)`` with its outcome.
    case start(Operation, TaskHandle)
    case follow(Resource, isFirst: Bool, TaskHandle)
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
    let isFirst: Bool
    let task: TaskHandle
    var latest: LoadState<Page>?
  }

  struct Stream: Sendable {
    var delivered: UInt64 = 0
    var reader: Reader?
  }

  let first: Resource
  /// The number of pages that are held at most; at least two, so that a page can be turned.
  let limit: Int
  var slots: [Slot] = []
  /// The pages before the first one held that the limit has dropped, oldest first.
  var earlier: [Link] = []
  var running: Work?
  var queue: [Work] = []
  var followed: [Resource: Followed] = [:]
  var streams: [UInt64: Stream] = [:]
  var error: ReactorError?
  var nextError: ReactorError?
  var previousError: ReactorError?
  var isRemoved = false
  /// A Boolean value that indicates whether the latest operation found every page as it was.
  var isConfirmed = false
  private var revision: UInt64 = 1
  private var valueRevision: UInt64 = 0
  private var lastAsked: UInt64 = 0
  /// The number of times that everything was removed, as far as the list knows.
  var removals: UInt64

  init(first: Resource, limit: Int?, removals: UInt64) {
    self.first = first
    self.limit = max(2, limit ?? .max)
    self.removals = removals
  }
}

// Pages and their neighbours.
extension PageChain {
  mutating func nextAsked() -> UInt64 {
    lastAsked += 1
    return lastAsked
  }

  /// Returns the resource of the page after the last one held; `nil` at the end of the list, and
  /// where a link leads back to a page that is held or that the limit has dropped.
  func following() throws(ReactorError) -> Link? {
    let link = outside(try slots.last?.next.get() ?? nil)
    return earlier.contains { $0.key == link?.key } ? nil : link
  }

  /// Returns the resource of the page before the first one held. A page that the limit has dropped
  /// comes before the link of the page, since the disk has it under that name.
  func preceding() throws(ReactorError) -> Link? {
    if let dropped = earlier.last { return dropped }
    return outside(try slots.first?.previous.get() ?? nil)
  }

  /// A Boolean value that indicates whether the page before the window was dropped from it.
  var hasDropped: Bool { !earlier.isEmpty }

  private func outside(_ link: Link?) -> Link? { slots.contains { $0.key == link?.key } ? nil : link }

  private func leads(_ link: () throws(ReactorError) -> Link?) -> Bool {
    // A link that cannot be followed is there: loading it tells why.
    do { return try link() != nil } catch { return true }
  }

  mutating func append(_ slot: Slot) {
    slots.append(slot)
    while slots.count > limit { earlier.append(slots.removeFirst().link) }
  }

  mutating func prepend(_ slot: Slot) {
    if earlier.last?.key == slot.key { earlier.removeLast() }
    slots.insert(slot, at: 0)
    // The last page left leads to those dropped.
    if slots.count > limit { slots.removeLast(slots.count - limit) }
  }
}

// States.
extension PageChain {
  var state: LoadState<PageList<Page>> {
    var list = PageList(slots.map(\.value), asked: slots.map(\.asked))
    list.hasNext = leads(following)
    list.hasPrevious = leads(preceding)
    list.isLoadingNext = running?.operation == .next
    list.isLoadingPrevious = running?.operation == .previous
    (list.nextError, list.previousError) = (nextError, previousError)
    let latest = followed[slots.first?.resource ?? first].flatMap { $0.isFirst ? $0.latest : nil }
    var state = LoadState(
      value: slots.isEmpty ? nil : list, error: error ?? latest?.error, fetchStatus: status(latest),
      origin: slots.first?.origin, fetchedAt: slots.map(\.fetchedAt).min(), isStale: slots.contains(where: \.isStale),
      progress: slots.isEmpty ? latest?.progress : nil, revision: revision,
      valueRevision: slots.isEmpty ? 0 : valueRevision)
    if state.fetchStatus == .paused, case .noConnectivity? = error { state.error = latest?.error }
    for draft in slots.flatMap(\.drafts) where !state.drafts.contains(draft) { state.drafts.append(draft) }
    state.isRemoved = isRemoved && slots.isEmpty
    return state
  }

  private func status(_ latest: LoadState<Page>?) -> FetchStatus {
    if latest?.fetchStatus == .paused { return .paused }
    switch running?.operation {
    case .load, .followUp, .refresh: return .fetching
    case .next, .previous, nil: return latest?.fetchStatus ?? .idle
    }
  }

  /// Makes the present state a new one, and gives it to those who wait for one.
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
