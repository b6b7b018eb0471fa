/// Finds the value at a path; where a member stands twice, in the first.
struct JSONLocator: JSONVisitor {
  /// The value at the path or, where there is none, the last value on the way to it.
  struct Location {
    var kind: JSONToken.Kind
    var range: Range<Int>
    /// How many components of the path lead to the value.
    var matched: Int
  }

  private(set) var location: Location?
  private(set) var isFinished = false
  /// The elements' ranges, where the value is an array and they are wanted.
  private(set) var elements: [Range<Int>] = []

  private let path: [JSONPath.Component]
  /// What is deeper concerns it no more.
  private let deepest: Int
  private let elementLimit: Int
  private let ignoresNameStyle: Bool
  private var depth = 0
  /// How many of the open containers lead to the path's end.
  private var depthOnPath = 0
  private var nameMatches = false
  private var index = 0
  private var elementStart = 0

  /// - Parameters:
  ///   - elementLimit: how many elements are wanted; it is finished when it has them.
  ///   - ignoresNameStyle: whether `authorName` leads to `author_name`, as where a decoder converts names.
  init(_ path: JSONPath, collecting elementLimit: Int = 0, ignoresNameStyle: Bool = false) {
    self.path = path.components
    deepest = path.components.count + (elementLimit > 0 ? 1 : 0)
    self.elementLimit = elementLimit
    self.ignoresNameStyle = ignoresNameStyle
  }

  @inline(__always)
  mutating func visit(_ token: JSONToken, in bytes: UnsafeRawBufferPointer) {
    switch token.kind {
    case .beginObject, .beginArray:
      if depth <= deepest { begin(token) }
      depth &+= 1
    case .endObject, .endArray:
      depth &-= 1
      if depth <= deepest { end(token) }
    case .key:
      if depth == depthOnPath, !isFinished { nameMatches = isName(path[depth - 1].name, token, in: bytes) }
    case .string, .number, .bool, .null:
      guard depth <= deepest else { return }
      begin(token)
      end(token)
    }
  }

  private func isName(_ name: String, _ token: JSONToken, in bytes: UnsafeRawBufferPointer) -> Bool {
    if JSONText.equals(token, name, in: bytes) { return true }
    guard ignoresNameStyle else { return false }
    return JSONText.lossyString(token, in: bytes).lowercased().replacing("_", with: "")
      == name.lowercased().replacing("_", with: "")
  }

  @inline(never)
  private mutating func begin(_ token: JSONToken) {
    guard !isFinished else { return }
    if depth == depthOnPath, isOnPath() {
      location = Location(kind: token.kind, range: token.start..<token.end, matched: depth)
      if depth < path.count, token.kind == .beginObject || token.kind == .beginArray { depthOnPath = depth + 1 }
      index = 0
    } else if elementLimit > 0, depth == path.count + 1 {
      elementStart = token.start
    }
  }

  private mutating func isOnPath() -> Bool {
    guard depth > 0 else { return location == nil }
    if location?.kind == .beginObject {
      defer { nameMatches = false }
      return nameMatches
    }
    defer { index += 1 }
    return index == path[depth - 1].index
  }

  @inline(never)
  private mutating func end(_ token: JSONToken) {
    guard !isFinished, let location else { return }
    if depth == location.matched {
      self.location?.range = location.range.lowerBound..<token.end
      isFinished = true
    } else if elementLimit > 0, location.kind == .beginArray, location.matched == path.count, depth == path.count + 1 {
      elements.append(elementStart..<token.end)
      if elements.count == elementLimit { isFinished = true }
    }
  }
}
