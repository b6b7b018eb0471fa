/// Ids in the order of their numbers. A change at either end takes constant time, apart from the
/// growth of the array; a change in between finds its position by binary search.
struct NumberedOrder<Number: Comparable & Sendable, ID: Equatable & Sendable>: Sendable {
  private var elements: ArraySlice<(number: Number, id: ID)> = []

  var ids: [ID] { elements.map(\.id) }
  var first: ID? { elements.first?.id }
  var isEmpty: Bool { elements.isEmpty }

  /// Adds an id, after those of the same number.
  mutating func insert(_ id: ID, at number: Number) {
    if let last = elements.last, number < last.number {
      elements.insert((number, id), at: place { number < $0 })
    } else {
      elements.append((number, id))
    }
  }

  /// Removes an id that was added with this number.
  mutating func remove(_ id: ID, at number: Number) {
    if elements.first?.id == id {
      elements.removeFirst()
      return
    }
    var index = place { !($0 < number) }
    while index < elements.endIndex, elements[index].number == number {
      if elements[index].id == id {
        elements.remove(at: index)
        return
      }
      index += 1
    }
  }

  /// Returns the index of the first element whose number `isBeyond` is true of; it is true of all
  /// later ones.
  private func place(_ isBeyond: (Number) -> Bool) -> Int {
    var (low, high) = (elements.startIndex, elements.endIndex)
    while low < high {
      let middle = low + (high - low) / 2
      if isBeyond(elements[middle].number) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
