/// The resources that lead to one key, oldest first. Most keys have one, which takes no memory of its own.
struct Aliases: RandomAccessCollection {
  private var first: Resource?
  /// Empty where ``first`` is `nil`.
  private var others: [Resource] = []

  var startIndex: Int { 0 }
  var endIndex: Int { first == nil ? 0 : 1 + others.count }
  subscript(position: Int) -> Resource {
    if position == 0, let first { return first }
    return others[position - 1]
  }

  mutating func append(_ resource: Resource) {
    if first == nil { first = resource } else { others.append(resource) }
  }

  mutating func popFirst() -> Resource? {
    defer { first = others.isEmpty ? nil : others.removeFirst() }
    return first
  }
}
