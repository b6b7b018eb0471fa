/// A model made from bytes, and what was left out on the way.
public struct Parsed<Model: Sendable>: Sendable {
  public var model: Model
  /// The elements that were left out, in order; empty where all were good. So "the server has none" and "all were bad" differ.
  public var pruned: [PrunedElement]
  /// Members that stand twice in one object; the first was used. At most 16 are named.
  public var duplicates: [String]

  public init(_ model: Model, pruned: [PrunedElement] = [], duplicates: [String] = []) {
    self.model = model
    self.pruned = pruned
    self.duplicates = duplicates
  }
}

/// An element that was left out of an array.
public struct PrunedElement: Sendable, Hashable {
  /// Its index in the array as received.
  public var index: Int
  public var error: ParserError

  public init(index: Int, error: ParserError) {
    self.index = index
    self.error = error
  }
}
