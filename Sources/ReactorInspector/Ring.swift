/// The latest elements, at most ``capacity``: the next one takes the place of the oldest.
struct Ring<Element> {
  let capacity: Int
  private var storage: [Element] = []
  /// Where the oldest is, once it is full.
  private var start = 0

  /// - Parameter capacity: at least 1.
  init(capacity: Int) { self.capacity = max(capacity, 1) }

  var count: Int { storage.count }
  var isEmpty: Bool { storage.isEmpty }
  var last: Element? { storage.isEmpty ? nil : storage[(start + storage.count - 1) % storage.count] }

  /// Oldest first.
  var elements: [Element] { Array(storage[start...] + storage[..<start]) }

  mutating func append(_ element: Element) {
    guard storage.count == capacity else { return storage.append(element) }
    storage[start] = element
    start = (start + 1) % capacity
  }

  mutating func updateLast(_ change: (inout Element) -> Void) {
    guard !storage.isEmpty else { return }
    change(&storage[(start + storage.count - 1) % storage.count])
  }

  /// The newest at the end of the ring for which `isWanted` holds, oldest first, at most `limit`.
  func suffix(_ limit: Int, while isWanted: (Element) -> Bool) -> [Element] {
    var found: [Element] = []
    var index = storage.count - 1
    while index >= 0, found.count < limit {
      let element = storage[(start + index) % storage.count]
      guard isWanted(element) else { break }
      found.append(element)
      index -= 1
    }
    return found.reversed()
  }
}

extension Ring: Sendable where Element: Sendable {}
