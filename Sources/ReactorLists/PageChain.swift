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
    let asked: UInt64
    var fetchedAt: Date
    var isStale: Bool
    var origin: Origin
    var drafts: [UUID] = []
  }

  enum Operation: Sendable, Hashable {
    /// Load the first page, as the policy of the list says.
    case load
    /// Ask for the pages behind the first again, of which there is a new answer.
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

  private struct Work: Sendable {
    let operation: Operation
    let task = TaskHandle(priority: nil)
    /// A Boolean value that indicates whether open streams want the operation, waiters or not.
    var isAutomatic = false
    var waiters: [(id: UInt64, waiter: Waiter)] = []
  }

  private struct Followed: Sendable {
    let isFirst: Bool
    let task: TaskHandle
    var latest: LoadState<Page>?
  }

  private struct Stream: Sendable {
    var delivered: UInt64 = 0
    var reader: Reader?
  }

  let first: Resource
  /// The number of pages that are held at most; at least two, so that a page can be turned.
  let limit: Int
  private(set) var slots: [Slot] = []
  /// The pages before the first one held that the limit has dropped, oldest first.
  private var earlier: [Link] = []
  private var running: Work?
  private var queue: [Work] = []
  private var followed: [Resource: Followed] = [:]
  private var streams: [UInt64: Stream] = [:]
  private var error: ReactorError?
  private var nextError: ReactorError?
  private var previousError: ReactorError?
  private var isRemoved = false
  /// A Boolean value that indicates whether the latest operation found every page as it was.
  private var isConfirmed = false
  private var revision: UInt64 = 1
  private var valueRevision: UInt64 = 0
  private var lastAsked: UInt64 = 0

  init(first: Resource, limit: Int?) {
    self.first = first
    self.limit = max(2, limit ?? .max)
  }
}

// Pages and their neighbours.
extension PageChain {
  mutating func nextAsked() -> UInt64 {
    lastAsked += 1
    return lastAsked
  }

  /// Returns the resource of the page after the last one held; `nil` at the end of the list, and
  /// where a link leads back into the window.
  func following() throws(ReactorError) -> Link? { outside(try slots.last?.next.get() ?? nil) }

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

  private mutating func append(_ slot: Slot) {
    slots.append(slot)
    while slots.count > limit { earlier.append(slots.removeFirst().link) }
  }

  private mutating func prepend(_ slot: Slot) {
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
    let latest = followed[slots.first?.resource ?? first]?.latest
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
  private mutating func publish(hasNewValue: Bool) -> [Action] {
    revision += 1
    if hasNewValue { valueRevision = ValueRevision.next() }
    let waiting = streams.filter { $0.value.reader != nil }.keys.sorted()
    return waiting.flatMap { deliver(to: $0) }
  }

  private mutating func deliver(to id: UInt64) -> [Action] {
    guard let stream = streams[id], let reader = stream.reader, stream.delivered < revision else { return [] }
    streams[id] = Stream(delivered: revision)
    return [.deliver(reader, state)]
  }
}

// Streams.
extension PageChain {
  mutating func subscribe(_ id: UInt64) -> [Action] {
    streams[id] = Stream()
    var actions = follow()
    if slots.isEmpty { actions += request(.load) }
    return actions
  }

  mutating func unsubscribe(_ id: UInt64) -> [Action] {
    guard let stream = streams.removeValue(forKey: id) else { return [] }
    var actions = follow()
    if let reader = stream.reader { actions.append(.deliver(reader, nil)) }
    guard streams.isEmpty else { return actions }
    running?.isAutomatic = false
    queue = queue.filter { !$0.waiters.isEmpty }
    for index in queue.indices { queue[index].isAutomatic = false }
    return actions + cancelUnwanted()
  }

  mutating func next(_ id: UInt64, _ reader: Reader) -> [Action] {
    guard let stream = streams[id] else { return [.deliver(reader, nil)] }
    var actions: [Action] = []
    // Iterators are not called concurrently. If two calls overlap, the earlier one gets the end.
    if let earlier = stream.reader { actions.append(.deliver(earlier, nil)) }
    streams[id]?.reader = reader
    return actions + deliver(to: id)
  }

  /// Follows the pages that are held, or the first one until there is one.
  private mutating func follow() -> [Action] {
    let held = slots.isEmpty ? [first] : slots.map(\.resource)
    let wanted = streams.isEmpty ? [] : held
    var actions: [Action] = []
    for (resource, old) in followed.sorted(by: { $0.key.description < $1.key.description }) {
      guard let index = wanted.firstIndex(of: resource), (index == 0) == old.isFirst else {
        actions.append(.cancel(old.task))
        followed[resource] = nil
        continue
      }
    }
    for (index, resource) in wanted.enumerated() where followed[resource] == nil {
      let new = Followed(isFirst: index == 0, task: TaskHandle(priority: nil))
      followed[resource] = new
      actions.append(.follow(resource, isFirst: index == 0, new.task))
    }
    return actions
  }

  /// Takes a state of a page that is followed: a draft, a local value, a removal, or a new answer.
  mutating func receive(_ state: LoadState<Page>, of resource: Resource, from task: TaskHandle) -> [Action] {
    guard let old = followed[resource], old.task === task else { return [] }
    followed[resource]?.latest = state
    // A failed attempt is no news: asking again at once would fail again, without end.
    let isNews = old.latest?.fetchedAt != state.fetchedAt || old.latest?.isStale != state.isStale
    guard let index = slots.firstIndex(where: { $0.resource == resource }) else {
      if state.isRemoved { isRemoved = true }
      // The page came another way than by the list, as after a removal.
      let isNew = state.value != nil && error == nil && running == nil && queue.isEmpty
      return publish(hasNewValue: false) + (isNew ? request(.followUp) : [])
    }
    if state.isRemoved { return remove(from: index) }
    // Another date is another answer: it is earlier if the clock was set back.
    let isOther = state.value != nil && state.origin != .local && state.fetchedAt != slots[index].fetchedAt
    if isOther, isNews, running == nil, queue.isEmpty { return publish(hasNewValue: false) + request(.followUp) }
    let isChanged = adopt(state, at: index)
    return (isChanged || old.isFirst ? publish(hasNewValue: isChanged) : []) + (isNews ? followUp() : [])
  }

  /// Shows the value of a stream, if it is of the same answer.
  ///
  /// - Returns: `true` if the page has changed.
  private mutating func adopt(_ state: LoadState<Page>, at index: Int) -> Bool {
    guard let value = state.value, let fetchedAt = state.fetchedAt,
      fetchedAt == slots[index].fetchedAt || state.origin == .local
    else { return false }
    slots[index].value = value
    slots[index].fetchedAt = fetchedAt
    slots[index].drafts = state.drafts
    slots[index].origin = state.origin ?? slots[index].origin
    return true
  }

  /// Asks for the pages anew if one of them was invalidated, or has a newer answer than the one
  /// that the list shows.
  private mutating func followUp() -> [Action] {
    guard running.map({ [.next, .previous].contains($0.operation) }) ?? true else { return [] }
    var isDue = false
    for index in slots.indices {
      guard let latest = followed[slots[index].resource]?.latest, latest.value != nil else { continue }
      if let fetchedAt = latest.fetchedAt, fetchedAt > slots[index].fetchedAt { isDue = true }
      // The stream of the first page asks by itself.
      if latest.isStale, !slots[index].isStale, latest.fetchedAt == slots[index].fetchedAt {
        slots[index].isStale = true
        isDue = isDue || index > 0
      }
    }
    return isDue ? request(.followUp) : []
  }

  private mutating func remove(from index: Int) -> [Action] {
    slots.removeLast(slots.count - index)
    isRemoved = index == 0
    guard index == 0 else { return publish(hasNewValue: true) + follow() }
    earlier = []
    (error, nextError, previousError) = (nil, nil, nil)
    let ended = [running].compactMap(\.self) + queue
    (running, queue) = (nil, [])
    let waiters = ended.flatMap(\.waiters).map { Action.resume($0.waiter, .failure(.cancelled)) }
    return ended.map { .cancel($0.task) } + waiters + follow() + publish(hasNewValue: true)
  }
}

// Operations.
extension PageChain {
  /// Asks for an operation; joins it if it is under way or queued.
  mutating func request(_ wanted: Operation, _ waiter: (UInt64, Waiter)? = nil) -> [Action] {
    let operation = slots.isEmpty && wanted != .refresh ? .load : wanted
    func join(_ work: inout Work) {
      if let (id, waiter) = waiter { work.waiters.append((id, waiter)) } else { work.isAutomatic = true }
    }
    if running?.operation == operation, var work = running {
      join(&work)
      running = work
    } else if let index = queue.firstIndex(where: { $0.operation == operation }) {
      join(&queue[index])
    } else {
      var work = Work(operation: operation)
      join(&work)
      queue.append(work)
    }
    return startNext()
  }

  private mutating func startNext() -> [Action] {
    guard running == nil, !queue.isEmpty else { return [] }
    let work = queue.removeFirst()
    running = work
    let isTurning = work.operation == .next || work.operation == .previous
    return [.start(work.operation, work.task)] + publish(hasNewValue: isTurning)
  }

  /// Ends the wait of a caller that was cancelled. An operation that nobody wants is cancelled.
  mutating func leave(_ id: UInt64) -> [Action] {
    var actions: [Action] = []
    func take(_ work: inout Work) {
      guard let index = work.waiters.firstIndex(where: { $0.id == id }) else { return }
      actions.append(.resume(work.waiters.remove(at: index).waiter, .failure(.cancelled)))
    }
    if var work = running {
      take(&work)
      running = work
    }
    for index in queue.indices { take(&queue[index]) }
    queue.removeAll { $0.waiters.isEmpty && !$0.isAutomatic }
    return actions + cancelUnwanted()
  }

  private mutating func cancelUnwanted() -> [Action] {
    guard let work = running, work.waiters.isEmpty, !work.isAutomatic else { return [] }
    running = nil
    let isTurning = work.operation == .next || work.operation == .previous
    return [.cancel(work.task)] + publish(hasNewValue: isTurning) + startNext()
  }

  /// Takes the outcome of an operation. That of one that has been cancelled changes nothing.
  mutating func finish(_ task: TaskHandle, _ result: Result<Change, ReactorError>) -> [Action] {
    guard let work = running, work.task === task else { return [] }
    running = nil
    let outcome = apply(result, of: work.operation)
    var actions = work.waiters.map { Action.resume($0.waiter, outcome) }
    for index in slots.indices {
      if let latest = followed[slots[index].resource]?.latest { _ = adopt(latest, at: index) }
    }
    actions += follow()
    if error == nil { actions += followUp() }
    return actions + publish(hasNewValue: hasNewValue(result, of: work.operation)) + startNext()
  }

  /// A refresh that only confirms what is shown is no new value.
  private func hasNewValue(_ result: Result<Change, ReactorError>, of operation: Operation) -> Bool {
    if operation == .next || operation == .previous { return true }
    return if case .success = result { !isConfirmed } else { false }
  }

  private mutating func apply(
    _ result: Result<Change, ReactorError>, of operation: Operation
  ) -> Result<Bool, ReactorError> {
    isConfirmed = false
    switch (result, operation) {
    case (.success(.next(let slot)), _):
      append(slot)
      nextError = nil
    case (.success(.previous(let slot)), _):
      prepend(slot)
      previousError = nil
    case (.success(.window(let new, let startsAnew, let failure)), _):
      isConfirmed = slots.count == new.count && zip(slots, new).allSatisfy { $0.instance === $1.instance }
      slots = new
      if startsAnew { earlier = [] }
      (error, isRemoved) = (failure, false)
      if let failure { return .failure(failure) }
    case (.success(.end), .previous):
      previousError = nil
      return .success(false)
    case (.success(.end), _):
      nextError = nil
      return .success(false)
    case (.failure(let failure), .next): nextError = failure
    case (.failure(let failure), .previous): previousError = failure
    case (.failure(let failure), _): error = failure
    }
    return result.map { _ in true }
  }
}
