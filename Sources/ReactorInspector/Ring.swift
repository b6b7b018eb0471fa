/// A buffer of the latest elements, at most ``capacity``. A new element replaces the oldest once
/// the ring is full.
struct Ring<Element> {
  let capacity: Int
  private var storage: [Element] = []
  /// The index of the oldest element; 0 until the ring is full.
  private var start = 0

  /// - Parameter capacity: The maximum number of elements; at least 1.
  init(capacity: Int) { self.capacity = max(capacity, 1) }

  var count: Int { storage.count }
  var isEmpty: Bool { storage.isEmpty }
  var last: Element? { storage.isEmpty ? nil : storage[(start + storage.count - 1) % storage.count] }

  /// The elements, oldest first.
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

  /// Returns the newest elements for which `isWanted` holds, oldest first and at most `limit`. The
  /// search ends at the first element for which it does not hold.
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
