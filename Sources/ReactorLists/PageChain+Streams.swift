import Foundation
import ReactorCore

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

  /// A Boolean value that indicates whether the pages were removed, and none was loaded since.
  private var isWithoutPages: Bool { isRemoved && slots.isEmpty }

  /// Follows the pages that are held, or the first one until there is one.
  mutating func follow() -> [Action] {
    let held = slots.isEmpty ? [first] : slots.map(\.resource)
    let wanted = streams.isEmpty ? [] : held
    var actions: [Action] = []
    for (resource, old) in followed.sorted(by: { $0.key.description < $1.key.description }) {
      guard let index = wanted.firstIndex(of: resource), (index == 0) == old.isFirst || isWithoutPages else {
        actions.append(.cancel(old.task))
        followed[resource] = nil
        continue
      }
    }
    for (index, resource) in wanted.enumerated() where followed[resource] == nil {
      // After a removal nothing is asked for, until somebody fetches the list.
      let new = Followed(isFirst: index == 0 && !isWithoutPages, task: TaskHandle(priority: nil))
      followed[resource] = new
      actions.append(.follow(resource, isFirst: new.isFirst, new.task))
    }
    return actions
  }

  /// Takes a state of a page that is followed: a draft, a local value, a removal, or a new answer.
  mutating func receive(_ state: LoadState<Page>, of resource: Resource, from task: TaskHandle) -> [Action] {
    guard let old = followed[resource], old.task === task else { return [] }
    followed[resource]?.latest = state
    // A failed attempt is no news: asking again at once would fail again, without end.
    let isNews =
      old.latest?.fetchedAt != state.fetchedAt || old.latest?.base != state.base
      || old.latest?.isInvalidated != state.isInvalidated
    guard let index = slots.firstIndex(where: { $0.resource == resource }) else {
      if state.isRemoved { isRemoved = true }
      // The page came another way than by the list, as after a removal.
      let isNew = state.value != nil && error == nil && running == nil && queue.isEmpty
      return publish(hasNewValue: false) + (isNew ? request(.followUp) : [])
    }
    if state.isRemoved { return remove(from: index) }
    let isOther = state.value != nil && state.origin != .local && !slots[index].isAnswer(of: state)
    if isOther, isNews, running == nil, queue.isEmpty {
      renewed(at: index)
      return publish(hasNewValue: false) + request(.followUp)
    }
    let isChanged = adopt(state, at: index)
    return (isChanged || old.isFirst ? publish(hasNewValue: isChanged) : []) + (isNews ? followUp() : [])
  }

  /// Shows the value of a stream, if it is of the same answer.
  ///
  /// - Returns: `true` if the page has changed.
  mutating func adopt(_ state: LoadState<Page>, at index: Int) -> Bool {
    guard let value = state.value, let fetchedAt = state.fetchedAt,
      slots[index].isAnswer(of: state) || state.origin == .local
    else { return false }
    slots[index].value = value
    slots[index].fetchedAt = fetchedAt
    slots[index].drafts = state.drafts
    slots[index].origin = state.origin ?? slots[index].origin
    return true
  }

  /// Takes note of a newer answer for a page. That of the first page makes those behind it due. If
  /// that of another did, two lists would make each other ask without end.
  private mutating func renewed(at index: Int) {
    guard index == 0 else { return }
    for other in slots.indices.dropFirst() where slots[other].due == nil { slots[other].due = .renewal }
  }

  /// Starts a follow-up if a page was invalidated, or has a newer answer than the one that the list
  /// shows.
  mutating func followUp() -> [Action] {
    guard running.map({ [.next, .previous].contains($0.operation) }) ?? true else { return [] }
    var isDue = false
    for index in slots.indices {
      guard let latest = followed[slots[index].resource]?.latest, latest.value != nil else { continue }
      if let fetchedAt = latest.fetchedAt, fetchedAt > slots[index].fetchedAt {
        renewed(at: index)
        isDue = true
      }
      // A page that is due already failed.
      if latest.isInvalidated, latest.fetchedAt == slots[index].fetchedAt, slots[index].due != .invalidation {
        slots[index].isStale = true
        // The stream of the first page asks by itself.
        guard index > 0 else { continue }
        slots[index].due = .invalidation
        isDue = true
      }
    }
    return isDue ? request(.followUp) : []
  }

  mutating func remove(from index: Int) -> [Action] {
    slots.removeLast(slots.count - index)
    isRemoved = index == 0
    // What is under way continues from the pages that are left.
    guard index == 0 else { return restart() + publish(hasNewValue: true) + follow() }
    earlier = []
    (error, nextError, previousError) = (nil, nil, nil)
    let ended = [running].compactMap(\.self) + queue
    (running, queue) = (nil, [])
    let waiters = ended.flatMap(\.waiters).map { Action.resume($0.waiter, .failure(.cancelled)) }
    return ended.map { .cancel($0.task) } + waiters + follow() + publish(hasNewValue: true)
  }

  /// Forgets the pages that were loaded before everything was removed, if it was since the last
  /// call.
  mutating func forget(removals: UInt64) -> [Action] {
    guard removals > self.removals else { return [] }
    self.removals = removals
    return slots.isEmpty ? [] : remove(from: 0)
  }
}

extension PageChain.Slot {
  /// Returns whether a state shows the answer that the list has. Another date is another answer: it
  /// is earlier if the clock was set back. Two answers may also have come at one time.
  fileprivate func isAnswer(of state: LoadState<Page>) -> Bool {
    state.fetchedAt == fetchedAt && state.base == ObjectIdentifier(instance)
  }
}
