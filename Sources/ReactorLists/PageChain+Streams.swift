import Foundation
import ReactorCore

// Streams.
extension PageChain {
  mutating func subscribe(_ id: UInt64) -> [Action] {
    streams[id] = Stream()
    guard window.isEmpty else { return streams.count == 1 ? follow(window.indices) : [] }
    return followHead() + request(.load)
  }

  mutating func unsubscribe(_ id: UInt64) -> [Action] {
    guard let stream = streams.removeValue(forKey: id) else { return [] }
    var actions: [Action] = []
    if let reader = stream.reader { actions.append(.deliver(reader, nil)) }
    guard streams.isEmpty else { return actions }
    for index in window.indices { actions += end(window[index].stream.take()) }
    actions += end(head.take())
    news = []
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

  /// Follows the pages at these indices that are not followed as they should be: the first one with
  /// the policy of the list, and the others from the cache.
  mutating func follow(_ indices: some Sequence<Int>) -> [Action] {
    guard !streams.isEmpty else { return [] }
    var actions: [Action] = []
    for index in indices where window[index].stream?.isFirst != (index == 0) {
      actions += end(window[index].stream.take())
      let new = Followed(isFirst: index == 0, task: TaskHandle(priority: nil))
      window[index].stream = new
      actions.append(.follow(window[index].resource, window[index].key, isFirst: new.isFirst, new.task))
    }
    return actions
  }

  /// Follows the first page while no page is loaded. After a removal, no page is fetched until a
  /// caller fetches the list.
  private mutating func followHead() -> [Action] {
    guard !streams.isEmpty, head == nil else { return [] }
    let new = Followed(isFirst: !isRemoved, task: TaskHandle(priority: nil))
    head = new
    return [.follow(first, firstKey, isFirst: new.isFirst, new.task)]
  }

  mutating func end(_ stream: Followed?) -> [Action] {
    guard let stream else { return [] }
    release(stream.latest)
    return [.cancel(stream.task)]
  }

  /// Releases pages that are no longer held, with their streams.
  mutating func drop(_ slots: [Slot]) -> [Action] {
    guard !slots.isEmpty else { return [] }
    release(slots)
    return slots.flatMap { end($0.stream) }
  }

  /// Takes a state of a page that is followed: a draft, a local value, a removal, or a new answer.
  mutating func receive(_ state: LoadState<Page>, of key: RecordKey?, from task: TaskHandle) -> [Action] {
    if let head, head.task === task { return receiveHead(state, after: head.latest) }
    guard let key, let index = window.index(of: key), let stream = window[index].stream, stream.task === task else {
      return []
    }
    release(stream.latest)
    window[index].stream?.latest = state
    if state.isRemoved { return remove(from: index) }
    // A failed attempt is not newer: requesting again at once would fail for ever.
    let isNews = stream.latest?.isSame(as: state) != true
    if isNews { news.insert(key) }
    let isChanged = adopt(state, at: index)
    return (isChanged || stream.isFirst ? publish(hasNewValue: isChanged) : []) + followUp()
  }

  private mutating func receiveHead(_ state: LoadState<Page>, after old: LoadState<Page>?) -> [Action] {
    release(old)
    head?.latest = state
    if state.isRemoved { isRemoved = true }
    // The page came another way than by the list, as after a removal.
    let isNew = state.value != nil && error == nil && running == nil
    return publish(hasNewValue: false) + (isNew ? request(.followUp) : [])
  }

  /// Returns the latest state of a loaded page's stream; `nil` if the page is not loaded.
  func latest(of key: RecordKey) -> LoadState<Page>? {
    window.index(of: key).flatMap { window[$0].stream?.latest }
  }

  /// Shows the value of a stream, if it is of the same answer.
  ///
  /// - Returns: `true` if the page has changed.
  mutating func adopt(_ state: LoadState<Page>, at index: Int) -> Bool {
    guard let old = window.show(state, at: index) else { return false }
    release(old)
    return true
  }

  /// Shows the values of pages without a stream.
  mutating func look(
    at found: [(key: RecordKey, state: LoadState<Page>, instance: any AnyObject & Sendable)]
  ) -> [Action] {
    guard streams.isEmpty else { return [] }
    var hasChanged = false
    for page in found {
      guard let index = window.index(of: page.key), window[index].shows(page.state) else { continue }
      let slot = window[index]
      guard (slot.shownInstance ?? slot.instance) !== page.instance else { continue }
      hasChanged = adopt(page.state, at: index) || hasChanged
      release(slot.shownInstance)
      window[index].shownInstance = page.instance
    }
    return hasChanged ? publish(hasNewValue: true) : []
  }

  /// Starts a follow-up if a page was invalidated, or has a newer response than the list shows.
  ///
  /// Follow-ups end, since none causes the next one. A follow-up takes the answers of the streams,
  /// and requests only pages behind the first one. If it succeeds, the list shows the answers to
  /// these requests, so they are not newer responses. If it fails, the list has an error, and then
  /// considers only the responses for the first page. Its responses may be newer than the pages of
  /// another list of the same resources. That list takes it, and requests nothing for it: only the
  /// first page makes those behind it due.
  mutating func followUp() -> [Action] {
    guard running == nil, !news.isEmpty else { return [] }
    var isDue = false
    for key in news {
      guard let index = window.index(of: key), let latest = window[index].stream?.latest else { continue }
      if window[index].isOvertaken(by: latest), index == 0 || error == nil {
        if index == 0 { renewed() }
        isDue = true
      }
      // A page that is due already failed.
      if latest.isInvalidated, window[index].shows(latest), window[index].due != .invalidation {
        window.markStale(at: index)
        // The stream of the first page sends its own request.
        guard index > 0 else { continue }
        window[index].due = .invalidation
        isDue = true
      }
    }
    news = []
    return isDue ? request(.followUp) : []
  }

  /// Makes the pages behind the first one due, which has a newer answer.
  private mutating func renewed() {
    for index in window.indices.dropFirst() where window[index].due == nil { window[index].due = .renewal }
  }

  mutating func remove(from index: Int) -> [Action] {
    isRemoved = index == 0
    if index == 0, let firstKey, let place = window.index(of: firstKey) { head = window[place].stream.take() }
    let actions = drop(window.removeSlots(from: index))
    // An operation in progress continues from the remaining pages.
    guard index == 0 else { return actions + restart() + publish(hasNewValue: true) }
    (error, nextError, previousError) = (nil, nil, nil)
    let ended = [running].compactMap(\.self) + queue
    (running, queue, news) = (nil, [], [])
    let waiters = ended.flatMap(\.waiters).map { Action.resume($0.waiter, .failure(.cancelled)) }
    return actions + ended.map { .cancel($0.task) } + waiters + followHead() + publish(hasNewValue: true)
  }

  /// Forgets the pages that were loaded before everything was removed, if it was since the last
  /// call.
  mutating func forget(removals: UInt64) -> [Action] {
    guard removals > self.removals else { return [] }
    self.removals = removals
    return window.isEmpty ? [] : remove(from: 0)
  }
}

extension LoadState {
  /// Returns `true` if both show the same answer, or none.
  fileprivate func isSame(as other: LoadState) -> Bool {
    fetchedAt == other.fetchedAt && instance === other.instance && isInvalidated == other.isInvalidated
  }
}
