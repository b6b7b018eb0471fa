/// The path from the root of a JSON text to a value in it.
struct JSONPath: Sendable, Hashable {
  /// The name of a member, or the index of an element.
  struct Component: Sendable, Hashable {
    /// The member's name, which applies in an object.
    var name: String
    /// The element's index, which applies in an array; `nil` if the component can only be a name.
    var index: Int?

    init(name: String, index: Int? = nil) {
      self.name = name
      self.index = index
    }

    init(index: Int) {
      self.init(name: String(index), index: index)
    }
  }

  var components: [Component]

  init(_ components: [Component] = []) {
    self.components = components
  }

  /// Creates a path from a key path such as `data.articles.0`. A number is an index in an array,
  /// and a name in an object.
  init(keyPath: String?) {
    guard let keyPath, !keyPath.isEmpty else {
      self.init()
      return
    }
    self.init(
      keyPath.split(separator: ".", omittingEmptySubsequences: false).map { part in
        Component(name: String(part), index: part.utf8.allSatisfy { 0x30...0x39 ~= $0 } ? Int(part) : nil)
      })
  }

  init(_ codingPath: [any CodingKey]) {
    self.init(codingPath.map { Component(name: $0.stringValue, index: $0.intValue) })
  }

  /// Creates a path from the form of ``text``. A member's name that contains a dot or a bracket
  /// becomes several components.
  init(text: String) {
    let parts = text.replacing("[", with: ".[").split(separator: ".")
    self.init(
      parts.map { part in
        let number = part.hasPrefix("[") && part.hasSuffix("]") ? Int(part.dropFirst().dropLast()) : nil
        return number.map(Component.init(index:)) ?? Component(name: String(part))
      })
  }

  /// The path in the form `data.articles[3].title`, with names cut off after 80 characters.
  var text: String {
    components.reduce(into: "") { text, component in
      if let index = component.index {
        text += "[\(index)]"
      } else {
        let name = component.name.count > 80 ? "\(component.name.prefix(79))…" : component.name
        text += text.isEmpty ? name : ".\(name)"
      }
    }
  }

  /// A coding key for any name or index.
  struct Key: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(name: String) { (stringValue, intValue) = (name, nil) }
    init(index: Int) { (stringValue, intValue) = ("Index \(index)", index) }
    init(stringValue: String) { self.init(name: stringValue) }
    init(intValue: Int) { self.init(index: intValue) }
  }

  static func + (left: JSONPath, right: JSONPath) -> JSONPath { JSONPath(left.components + right.components) }
}
