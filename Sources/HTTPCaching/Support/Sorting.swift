extension Sequence {
  /// Returns the elements in order. The code is not specialized for their type: each specialized
  /// sort adds four kilobytes to every program, and the callers of this one sort few elements, or
  /// do it rarely.
  @inline(never) @_semantics("optimize.sil.specialize.generic.never")
  package func sortedUnspecialized(by areInOrder: (Element, Element) -> Bool) -> [Element] { sorted(by: areInOrder) }
}
