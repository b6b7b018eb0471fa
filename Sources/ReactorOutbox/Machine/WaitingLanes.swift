/// The lanes that wait for their turn.
struct WaitingLanes: Sendable {
  private var lanes: [String] = []
  private var first = 0
  private var names: Set<String> = []

  var isEmpty: Bool { names.isEmpty }

  mutating func add(_ lane: String) {
    if names.insert(lane).inserted { lanes.append(lane) }
  }

  mutating func takeFirst() -> String? {
    guard first < lanes.count else { return nil }
    defer {
      first += 1
      if first > lanes.count / 2 {
        lanes.removeFirst(first)
        first = 0
      }
    }
    names.remove(lanes[first])
    return lanes[first]
  }
}
