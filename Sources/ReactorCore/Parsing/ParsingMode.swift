/// What becomes of a malformed element of an array of models.
public enum ParsingMode: Sendable, Hashable {
  /// It is left out, counted and reported.
  case prune
  /// It fails the whole.
  case strict
}
