/// The differences of two values of one type, member by member. Values that are `Equatable` and
/// equal do not differ, whatever their members are.
enum Differences {
  /// Returns a text for each difference, with the path of the member.
  static func between<Value>(_ one: Value, _ other: Value) -> [String] {
    differences(one, other, String(describing: Value.self))
  }

  private static func differences(_ one: Any, _ other: Any, _ path: String) -> [String] {
    if let one = one as? any Equatable, isEqual(one, other) { return [] }
    let (mirror, otherMirror) = (Mirror(reflecting: one), Mirror(reflecting: other))
    let (members, others) = (mirror.members, otherMirror.members)
    let isOrdered = mirror.displayStyle != .set && mirror.displayStyle != .dictionary
    guard members.count == others.count, members.map(\.name) == others.map(\.name) || !isOrdered else {
      return [text(one, other, path)]
    }
    // Without an order, nothing says which members to compare.
    guard isOrdered else { return one is any Equatable ? [text(one, other, path)] : [] }
    let inside = zip(members, others).flatMap { differences($0.value, $1.value, "\(path).\($0.name)") }
    if !inside.isEmpty { return inside }
    let isLeaf = members.isEmpty && "\(one)" != "\(other)"
    return isLeaf || one is any Equatable ? [text(one, other, path)] : []
  }

  private static func isEqual<Value: Equatable>(_ one: Value, _ other: Any) -> Bool { one == other as? Value }

  private static func text(_ one: Any, _ other: Any, _ path: String) -> String {
    "\(path) is \(String(reflecting: one)), and after decoding \(String(reflecting: other))"
  }
}

extension Mirror {
  /// The members, those of superclasses first.
  fileprivate var members: [(name: String, value: Any)] {
    (superclassMirror?.members ?? [])
      + children.enumerated().map { (name: $1.label ?? "\($0)", value: $1.value) }
  }
}
