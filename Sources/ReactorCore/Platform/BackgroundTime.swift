/// Lets a program finish what it does, for a while, after it was asked to stop.
public protocol BackgroundTime: Sendable {
  /// Begins an activity, which keeps the program running until it has ended or expires.
  ///
  /// - Parameters:
  ///   - name: what the system's tools show; for people.
  ///   - expired: called at most once, when the program has to stop: on any thread, maybe before this method returns, and
  ///     maybe while the activity is being ended. It must return at once; the program may stand still from then on.
  /// - Returns: the running activity. Who lets it go ends it.
  func begin(_ name: String, expired: @escaping @Sendable () -> Void) -> BackgroundActivity
}
