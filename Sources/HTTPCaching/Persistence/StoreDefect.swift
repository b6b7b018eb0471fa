/// Something in a store that cannot be read: what `verify()` of a ``Persistence`` found.
public struct StoreDefect: Sendable, Hashable, CustomStringConvertible {
  /// The file, or the record's key in it.
  public var place: String
  /// What was seen, and nothing of what is stored.
  public var reason: String

  public init(place: String, reason: String) {
    self.place = place
    self.reason = reason
  }

  public var description: String { "\(place): \(reason)" }
}
