/// The switches of a reader, all off.
public struct Switches: Sendable {
  /// Low-power mode.
  public let power = Switch()
  /// The reader makes no request, as a device does without a connection.
  public let offline = Switch()

  public init() {}
}
