import Foundation
import ReactorCore

extension PageChain {
  /// A page that is held.
  struct Slot: Sendable {
    let link: Link
    var resource: Resource { link.resource }
    var key: RecordKey { link.key }
    fileprivate(set) var value: Page
    /// The instance that holds the answer's model, which a 304 keeps.
    let instance: any AnyObject & Sendable
    /// The instance that holds the value, as it was last found in memory; `nil` before.
    var shownInstance: (any AnyObject & Sendable)?
    /// The pages that this one leads to, or the error of a link that cannot be followed.
    let next: Result<Link?, ReactorError>
    let previous: Result<Link?, ReactorError>
    /// The number of the request for the page; a page that was requested later has a higher one.
    let asked: UInt64
    fileprivate(set) var fetchedAt: Date
    fileprivate(set) var isStale: Bool
    fileprivate(set) var origin: Origin
    fileprivate(set) var drafts: [UUID]
    /// The revision of the state that the page shows. A state with a smaller one is older, whatever
    /// the dates say.
    fileprivate(set) var revision: UInt64
    /// The reason why the next follow-up fetches the page; `nil` if it does not.
    var due: Due?
    /// The stream of the page; `nil` while the states of the list have no reader.
    var stream: Followed?
  }

  /// The pages that are held, in order, and the links to the earlier ones that the limit has
  /// dropped.
  ///
  /// A page is found by its key, and another one appended, in constant time, however many there
  /// are.
  struct Window: Sendable {
    private(set) var slots: [Slot] = []
    /// The values of the slots. A state of the list shares them, so that it costs no copy.
    private(set) var pages: [Page] = []
    /// The numbers of the slots' requests.
    private(set) var asked: [UInt64] = []
    private(set) var summary = Summary()
    /// The pages before the first one held that the limit has dropped, oldest first.
    private(set) var earlier: [Link] = []
    /// The positions of all of them in the list.
    private var places: [RecordKey: Int] = [:]
    /// The pages after the last one held that the limit has dropped. A link back to one of them is
    /// the end of the list.
    private var later: Set<RecordKey> = []
    /// The position of the first page held. Pages may come before it, so it may be negative.
    private var start = 0

    init(_ slots: [Slot] = []) {
      for slot in slots { append(slot) }
    }

    var isEmpty: Bool { slots.isEmpty }
    var count: Int { slots.count }
    var indices: Range<Int> { slots.indices }

    subscript(index: Int) -> Slot {
      get { slots[index] }
      _modify { yield &slots[index] }
    }

    /// Returns the index of a page that is held; `nil` for any other.
    func index(of key: RecordKey) -> Int? {
      guard let place = places[key], place >= start else { return nil }
      return place - start
    }
  }

  /// The properties of a list that depend on all of its pages.
  struct Summary: Sendable {
    /// The date of the oldest page; `nil` without one.
    fileprivate(set) var fetchedAt: Date?
    fileprivate(set) var isStale = false
    fileprivate(set) var drafts: [UUID] = []

    fileprivate mutating func add(_ slot: Slot) {
      fetchedAt = min(fetchedAt ?? slot.fetchedAt, slot.fetchedAt)
      isStale = isStale || slot.isStale
      for draft in slot.drafts where !drafts.contains(draft) { drafts.append(draft) }
    }
  }
}

// Values.
extension PageChain.Window {
  /// Shows the value of a state, if the state is of the answer that a page has, or local.
  ///
  /// - Returns: The earlier value; `nil` if the page has not changed.
  mutating func show(_ state: LoadState<Page>, at index: Int) -> Page? {
    guard let value = state.value, let fetchedAt = state.fetchedAt, slots[index].shows(state) else { return nil }
    let old = slots[index]
    slots[index].value = value
    slots[index].fetchedAt = fetchedAt
    slots[index].drafts = state.drafts
    slots[index].origin = state.origin ?? old.origin
    slots[index].revision = state.revision
    pages[index] = value
    if old.fetchedAt != fetchedAt || old.drafts != state.drafts { summarize() }
    return old.value
  }

  /// Marks a page stale that was invalidated.
  mutating func markStale(at index: Int) {
    slots[index].isStale = true
    summary.isStale = true
  }

  private mutating func summarize() {
    summary = PageChain.Summary()
    for slot in slots { summary.add(slot) }
  }
}

extension PageChain.Slot {
  /// Returns `true` if a state is not older than the page.
  private func isNotNewer(than state: LoadState<Page>) -> Bool { state.revision >= revision }

  /// Returns `true` if a state shows the answer that the list has. Another date is another answer:
  /// it is earlier if the clock was set back. Two answers may also have come at one time.
  private func isAnswer(of state: LoadState<Page>) -> Bool {
    state.fetchedAt == fetchedAt && state.instance === instance
  }

  /// Returns `true` if a state shows the answer that the list has, or a local value in its place.
  func shows(_ state: LoadState<Page>) -> Bool {
    isNotNewer(than: state) && (isAnswer(of: state) || state.origin == .local)
  }

  /// Returns `true` if a state shows a newer answer than the list does.
  func isOvertaken(by state: LoadState<Page>) -> Bool {
    state.value != nil && state.origin != .local && isNotNewer(than: state) && !isAnswer(of: state)
  }
}

// Neighbours.
extension PageChain.Window {
  /// Returns the link to the page after the last held one; `nil` at the end of the list, and if the
  /// link leads back to a page that is held or was dropped.
  func following() throws(ReactorError) -> PageChain.Link? { unknown(try slots.last?.next.get() ?? nil) }

  /// Returns the way to the page before the first one held. A page that the limit has dropped comes
  /// before the link of the page, since the disk has it under that name.
  func preceding() throws(ReactorError) -> PageChain.Link? {
    if let dropped = earlier.last { return dropped }
    guard let link = unknown(try slots.first?.previous.get() ?? nil), !later.contains(link.key) else { return nil }
    return link
  }

  /// Returns `true` if the last pages of both lead to the same page, or to none.
  func leadsToSame(as other: PageChain.Window) -> Bool {
    switch (slots.last?.next, other.slots.last?.next) {
    case (.success(let link), .success(let other)): link?.key == other?.key
    case (.failure, .failure): true
    default: false
    }
  }

  private func unknown(_ link: PageChain.Link?) -> PageChain.Link? {
    guard let link, places[link.key] == nil else { return nil }
    return link
  }
}

// Changes. Each returns the pages that are held no longer.
extension PageChain.Window {
  mutating func append(_ slot: PageChain.Slot) {
    later.remove(slot.key)
    places[slot.key] = start + slots.count
    slots.append(slot)
    pages.append(slot.value)
    asked.append(slot.asked)
    summary.add(slot)
  }

  mutating func prepend(_ slot: PageChain.Slot) {
    if earlier.last?.key == slot.key { earlier.removeLast() }
    start -= 1
    places[slot.key] = start
    slots.insert(slot, at: 0)
    pages.insert(slot.value, at: 0)
    asked.insert(slot.asked, at: 0)
    summary.add(slot)
  }

  /// Drops the first pages beyond `limit`. The list finds the way back to them.
  mutating func dropFirst(beyond limit: Int) -> [PageChain.Slot] {
    let count = slots.count - limit
    guard count > 0 else { return [] }
    let dropped = remove(..<count)
    start += count
    earlier += dropped.map(\.link)
    return dropped
  }

  /// Drops the last pages beyond `limit`. The links of the remaining pages lead to them.
  mutating func dropLast(beyond limit: Int) -> [PageChain.Slot] {
    let dropped = removeSlots(from: limit)
    later.formUnion(dropped.map(\.key))
    return dropped
  }

  /// Removes the pages from an index on. Without any page, the links to earlier ones are dropped
  /// too.
  mutating func removeSlots(from index: Int) -> [PageChain.Slot] {
    guard index < slots.count else { return [] }
    let removed = remove(index...)
    for slot in removed { places[slot.key] = nil }
    if slots.isEmpty { (earlier, later, places) = ([], [], [:]) }
    return removed
  }

  private mutating func remove(_ range: some RangeExpression<Int>) -> [PageChain.Slot] {
    let range = range.relative(to: slots)
    let removed = Array(slots[range])
    slots.removeSubrange(range)
    pages.removeSubrange(range)
    asked.removeSubrange(range)
    summarize()
    return removed
  }

  /// Replaces the pages that are held.
  ///
  /// - Parameter startsAnew: `true` if the list begins with the new pages.
  mutating func replace(with new: PageChain.Window, startsAnew: Bool) -> [PageChain.Slot] {
    let (old, links) = (slots, startsAnew ? [] : earlier.prefix { new.places[$0.key] == nil })
    self = PageChain.Window()
    for link in links {
      places[link.key] = start
      earlier.append(link)
      start += 1
    }
    for slot in new.slots { append(slot) }
    return old
  }
}
