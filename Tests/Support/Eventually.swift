public import Testing

/// Returns once `isMet`, and fails where the test is ended before: for what a task lets go of as it ends, which is after whoever waited
/// for it has gone on.
public func eventually(
  _ what: Comment, sourceLocation: SourceLocation = #_sourceLocation, _ isMet: () -> Bool
) async {
  while !isMet(), !Task.isCancelled { await Task.yield() }
  #expect(isMet(), what, sourceLocation: sourceLocation)
}
