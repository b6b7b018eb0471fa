/// The treatment of an array's malformed elements.
public enum ParsingMode: Sendable, Hashable {
  /// Malformed elements are left out, counted and reported. An array of which no element can be read
  /// is a ``ParserError`` that names the first failure: more likely the model is wrong than all data.
  case prune
  /// Malformed elements are left out, counted and reported, even if none is left.
  case pruneAll
  /// The first malformed element fails the whole.
  case strict
}
