/// Tells when the user comes back to the app.
public protocol AppActivity: Sendable {
  /// A new stream at each access: an element whenever the app becomes active from then on.
  ///
  /// What happens more than once before its reader looks may be one element. It ends with its reader.
  var becameActive: AsyncStream<Void> { get }
}
