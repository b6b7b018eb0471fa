/// Finds the paths of tokens that answer to a question: what was asked about only after something went wrong.
struct JSONPathFinder: JSONVisitor {
  private struct Container {
    let isObject: Bool
    var key: JSONToken?
    var index = -1
  }

  let limit: Int
  let matches: (JSONToken, UnsafeRawBufferPointer) -> Bool
  private(set) var found: [(path: JSONPath, token: JSONToken)] = []
  private var containers: [Container] = []

  init(limit: Int, matches: @escaping (JSONToken, UnsafeRawBufferPointer) -> Bool) {
    self.limit = limit
    self.matches = matches
  }

  var isFinished: Bool { found.count >= limit }

  mutating func visit(_ token: JSONToken, in bytes: UnsafeRawBufferPointer) {
    let top = containers.count - 1
    if token.kind == .key {
      containers[top].key = token
    } else if token.beginsValue, top >= 0, !containers[top].isObject {
      containers[top].index += 1
    }
    if matches(token, bytes) { found.append((path(in: bytes), token)) }
    switch token.kind {
    case .beginObject, .beginArray: containers.append(Container(isObject: token.kind == .beginObject))
    case .endObject, .endArray: containers.removeLast()
    default: break
    }
  }

  private func path(in bytes: UnsafeRawBufferPointer) -> JSONPath {
    JSONPath(
      containers.map { container in
        container.key.map { JSONPath.Component(name: JSONText.lossyString($0, in: bytes)) }
          ?? JSONPath.Component(index: container.index)
      })
  }
}
