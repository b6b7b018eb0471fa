#if os(macOS) || os(Linux)
  import TestSupport
  import Testing

  /// Waiting costs no processor time: no loop triggers its own next round.
  ///
  /// Each layer runs in a separate process, whose time is measured, so it does not matter what else
  /// runs.
  @Suite(.timeLimit(.minutes(5))) struct `A layer that waits` {
    @Test(arguments: IdleCase.allCases) func `an idle layer takes next to no processor time`(which: IdleCase)
      async throws
    {
      let output = try await Program("StoreWriter").output("idle", which.rawValue)
      let spent = try #require(Int(output.filter(\.isNumber)), "\(which): \(output)")
      // A loop takes all of the 1,500 milliseconds, and of the second processor too.
      #expect(spent < 300, "\(which): \(spent) ms")
    }
  }
#endif
