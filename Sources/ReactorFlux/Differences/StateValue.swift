/// A value of a state, as its mirror shows it.
struct StateValue {
  typealias Field = (name: String, value: Any)
  typealias Entries = [AnyHashable: Any]

  enum Shape {
    case none
    case some(Any)
    case fields([Field])
    /// A case with an associated value.
    case enumeration(String, Any)
    case elements([Any])
    case entries(Entries)
    /// A value without parts, a value of the standard library or Foundation, or a large
    /// collection.
    case leaf
  }

  let shape: Shape
  private let value: Any

  init(_ value: Any) {
    self.value = value
    let mirror = Mirror(reflecting: value)
    let isCollection = [.collection, .set, .dictionary].contains(mirror.displayStyle)
    guard !isCollection || mirror.children.count <= Self.largest else {
      shape = .leaf
      return
    }
    shape =
      switch mirror.displayStyle {
      case .optional: mirror.children.first.map { .some($0.value) } ?? .none
      case .collection: .elements(mirror.children.map(\.value))
      case .set: .entries(Self.members(mirror))
      case .dictionary: .entries(Self.entries(mirror))
      case .enum: mirror.children.first.map { .enumeration($0.label ?? "", $0.value) } ?? .leaf
      case .struct, .tuple: Self.isOfLibrary(value) || mirror.children.isEmpty ? .leaf : .fields(Self.fields(mirror))
      default: .leaf
      }
  }

  /// Compares two values without parts, of one type, that are not equal or not `Equatable`.
  ///
  /// - Returns: `false` for closures, and for objects that are not `Equatable`: nothing can be said
  ///   of them.
  func differs(from other: StateValue) -> Bool {
    if value is any Equatable { return true }
    let mirror = Mirror(reflecting: value)
    switch mirror.displayStyle {
    case .enum: return "\(value)" != "\(other.value)"
    case .collection, .set, .dictionary: return mirror.children.count != Mirror(reflecting: other.value).children.count
    default: return false
    }
  }

  /// The value in one line, without the queries of URLs. Of a value with parts, it names none of
  /// them, since each may be a secret.
  var text: String {
    switch shape {
    case .none: "nil"
    case .some(let value): StateValue(value).text
    case .fields: "\(type(of: value))(…)"
    case .enumeration(let name, _): "\(name)(…)"
    case .elements(let elements): Self.count(elements.count)
    case .entries(let entries): Self.count(entries.count)
    case .leaf:
      switch Mirror(reflecting: value).displayStyle {
      case .collection, .set, .dictionary: Self.count(Mirror(reflecting: value).children.count)
      default: Self.text(of: value)
      }
    }
  }

  private static func count(_ count: Int) -> String { count == 1 ? "1 element" : "\(count) elements" }

  /// The number of elements up to which a collection is compared element by element.
  private static let largest = 1_000

  static func text(of value: Any) -> String {
    let text = value is String ? "\"\(value)\"" : "\(value)"
    let line = text.split(whereSeparator: \.isNewline).joined(separator: " ")
      .split(separator: " ", omittingEmptySubsequences: false).map(withoutQuery).joined(separator: " ")
    return line.count <= longest ? line : line.prefix(longest) + "…"
  }

  private static let longest = 119

  private static func withoutQuery(_ word: Substring) -> Substring {
    guard let scheme = word.firstIndex(of: ":"), word[scheme...].hasPrefix("://"),
      let query = word.firstIndex(where: { $0 == "?" || $0 == "#" })
    else { return word }
    return word[...query] + "…"
  }

  /// The fields, without the underscore of a property's storage, and without what a macro adds.
  private static func fields(_ mirror: Mirror) -> [Field] {
    mirror.children.enumerated().compactMap { index, child in
      let label = child.label ?? "\(index)"
      guard !label.hasPrefix("_$") else { return nil }
      return (label.hasPrefix("_") ? String(label.dropFirst()) : label, child.value)
    }
  }

  private static func members(_ mirror: Mirror) -> Entries {
    let members = mirror.children.compactMap { $0.value as? AnyHashable }
    return Dictionary(members.map { ($0, $0.base) }) { $1 }
  }

  private static func entries(_ mirror: Mirror) -> Entries {
    let entries: [(AnyHashable, Any)] = mirror.children.compactMap { child in
      let parts = Mirror(reflecting: child.value).children.map(\.value)
      guard parts.count == 2, let key = parts[0] as? AnyHashable else { return nil }
      return (key, parts[1])
    }
    return Dictionary(entries) { $1 }
  }

  /// Returns `true` for strings, numbers, dates and the like.
  private static func isOfLibrary(_ value: Any) -> Bool {
    let name = String(reflecting: type(of: value))
    return ["Swift.", "Foundation.", "FoundationEssentials.", "__C."].contains { name.hasPrefix($0) }
  }
}
