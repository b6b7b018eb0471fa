/// The state of a store at one moment.
@MainActor struct StoreImage {
  let store: any Store
  /// The snapshot, or the stored properties of a store that has none.
  let state: Any

  init(_ store: any Store) {
    self.store = store
    state = if let store = store as? any Snapshotting { store.anySnapshot } else { StoredProperties(of: store) }
  }
}

/// The stored properties of an object, as they are now.
private struct StoredProperties: CustomReflectable {
  let children: [Mirror.Child]

  init(of object: AnyObject) {
    children = Mirror(reflecting: object).children.filter { !($0.value is StoreContext) }
  }

  var customMirror: Mirror { Mirror(self, children: children, displayStyle: .struct) }
}

/// Compares two states field by field.
struct StateComparison {
  typealias Field = ActionDifference.Field

  private(set) var fields: [Field] = []
  /// A Boolean value that indicates whether more differs than the limits allow.
  private(set) var isCut = false
  private let store: String
  private let visibility: StateVisibility
  private let limit: Int

  /// The number of levels that are compared. A difference below them is one of the level above.
  private static let levels = 10

  init(of store: String, _ visibility: StateVisibility, limit: Int) {
    self.store = store
    self.visibility = visibility
    self.limit = limit
  }

  mutating func compare(_ before: Any, _ after: Any) { compare(before, after, at: FieldPath()) }

  private mutating func compare(_ before: Any, _ after: Any, at path: FieldPath) {
    guard !isCut, !Self.isEqual(before, after) else { return }
    let (old, new) = (StateValue(before), StateValue(after))
    guard path.depth < Self.levels, type(of: before) == type(of: after) else {
      return append(.changed, from: old, to: new, at: path)
    }
    switch (old.shape, new.shape) {
    case (.none, .none): break
    case (.none, .some(let value)): list(.added, value, at: path)
    case (.some(let value), .none): list(.removed, value, at: path)
    case (.some(let old), .some(let new)): compare(old, new, at: path)
    case (.fields(let old), .fields(let new)): compare(old, new, at: path)
    case (.enumeration(let one, let old), .enumeration(let other, let new)) where one == other:
      compare([(one, old)], [(other, new)], at: path)
    case (.elements(let old), .elements(let new)): compare(elements: old, new, at: path)
    case (.entries(let old), .entries(let new)): compare(entries: old, new, at: path)
    case (.leaf, .leaf): if old.differs(from: new) { append(.changed, from: old, to: new, at: path) }
    default:
      append(.changed, from: old, to: new, at: path)
      if case .enumeration(let name, let value) = new.shape, !visibility.isHidden {
        list(.added, value, at: path.field(name))
      }
    }
  }

  private mutating func compare(_ before: [StateValue.Field], _ after: [StateValue.Field], at path: FieldPath) {
    for (old, new) in zip(before, after) { compare(old.value, new.value, at: path.field(old.name)) }
  }

  /// Compares what is between the equal first and the equal last elements. Where the number is the
  /// same, elements have changed; otherwise, some were added or removed.
  private mutating func compare(elements before: [Any], _ after: [Any], at path: FieldPath) {
    let shorter = min(before.count, after.count)
    let same = (0..<shorter).prefix { isSame(before[$0], after[$0]) }.count
    let last = (0..<shorter - same).prefix { isSame(before[before.count - 1 - $0], after[after.count - 1 - $0]) }.count
    let (old, new) = (before[same..<before.count - last], after[same..<after.count - last])
    let changed = min(old.count, new.count)
    for index in old.indices.prefix(changed) { compare(before[index], after[index], at: path.element(index)) }
    for index in old.indices.dropFirst(changed) { list(.removed, before[index], at: path.element(index)) }
    for index in new.indices.dropFirst(changed) { list(.added, after[index], at: path.element(index)) }
  }

  /// Compares the values of equal keys. The members of a set are keys without values.
  private mutating func compare(entries before: StateValue.Entries, _ after: StateValue.Entries, at path: FieldPath) {
    func shown(_ key: AnyHashable) -> FieldPath {
      path.key(visibility.shows(path.name, of: store) ? StateValue.text(of: key.base) : nil)
    }
    for (key, value) in before.sorted(by: { "\($0.key)" < "\($1.key)" }) {
      if let now = after[key] { compare(value, now, at: shown(key)) } else { list(.removed, value, at: shown(key)) }
    }
    for (key, value) in after.sorted(by: { "\($0.key)" < "\($1.key)" }) where before[key] == nil {
      list(.added, value, at: shown(key))
    }
  }

  /// Lists a value that was added or removed: each of its fields, since each may be shown or not.
  private mutating func list(_ kind: Field.Kind, _ value: Any, at path: FieldPath) {
    guard !isCut else { return }
    let leaf = StateValue(value)
    guard path.depth < Self.levels, !visibility.isHidden else { return append(kind, from: leaf, to: leaf, at: path) }
    switch leaf.shape {
    case .some(let value): list(kind, value, at: path)
    case .fields(let fields) where !fields.isEmpty:
      for field in fields { list(kind, field.value, at: path.field(field.name)) }
    case .enumeration(let name, let value): list(kind, value, at: path.field(name))
    default: append(kind, from: leaf, to: leaf, at: path)
    }
  }

  private mutating func append(_ kind: Field.Kind, from before: StateValue, to after: StateValue, at path: FieldPath) {
    guard fields.count < limit else {
      isCut = true
      return
    }
    let isShown = visibility.shows(path.name, of: store)
    fields.append(
      Field(
        store: store, path: path.text, kind: kind, before: isShown && kind != .added ? before.text : nil,
        after: isShown && kind != .removed ? after.text : nil))
  }

  private func isSame(_ before: Any, _ after: Any) -> Bool {
    var comparison = StateComparison(of: store, .hidden, limit: 0)
    comparison.compare(before, after)
    return !comparison.isCut
  }

  /// Returns `true` only if both are `Equatable` values of one type, and equal.
  private static func isEqual(_ before: Any, _ after: Any) -> Bool {
    func equals<Value: Equatable>(_ value: Value) -> Bool { (after as? Value) == value }
    return (before as? any Equatable).map { equals($0) } ?? false
  }
}

/// The place of a field in a state.
private struct FieldPath {
  /// The path with indices and keys.
  private(set) var text = ""
  /// The path without them.
  private(set) var name = ""
  private(set) var depth = 0

  func field(_ field: String) -> FieldPath {
    var path = self
    path.text += text.isEmpty ? field : ".\(field)"
    path.name += name.isEmpty ? field : ".\(field)"
    path.depth += 1
    return path
  }

  func element(_ index: Int) -> FieldPath { subscripted("\(index)") }

  /// - Parameter key: The text of the key; `nil` if it is not shown.
  func key(_ key: String?) -> FieldPath { subscripted(key ?? "…") }

  private func subscripted(_ text: String) -> FieldPath {
    var path = self
    path.text += "[\(text)]"
    path.depth += 1
    return path
  }
}
