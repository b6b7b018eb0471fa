/// A model made from bytes, and the elements that were left out of it.
public struct Parsed<Model: Sendable>: Sendable {
  public var model: Model
  /// The first elements that were left out, in order, at most ``PrunedElement/limit``; empty where
  /// all were good. An empty array of the server's has none.
  public var pruned: [PrunedElement]
  /// The number of elements that were left out, with those that ``pruned`` does not name.
  public var prunedCount: Int
  /// Members that stand twice in one object; the first was used. At most 16 are named.
  public var duplicates: [String]

  /// - Parameter prunedCount: by default the count of `pruned`.
  public init(_ model: Model, pruned: [PrunedElement] = [], prunedCount: Int? = nil, duplicates: [String] = []) {
    self.model = model
    self.pruned = pruned
    self.prunedCount = prunedCount ?? pruned.count
    self.duplicates = duplicates
  }

  /// The same with its model made another one.
  func map<Other: Sendable>(_ transform: (Model) -> Other) -> Parsed<Other> {
    Parsed<Other>(transform(model), pruned: pruned, prunedCount: prunedCount, duplicates: duplicates)
  }
}

/// An element that was left out of an array.
public struct PrunedElement: Sendable, Hashable {
  /// The number of elements of one body that are named with their errors: 16. The rest is counted.
  public static let limit = 16

  /// Its index in the array as received.
  public var index: Int
  public var error: ParserError

  public init(index: Int, error: ParserError) {
    self.index = index
    self.error = error
  }
}
