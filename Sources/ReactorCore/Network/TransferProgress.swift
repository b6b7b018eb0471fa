/// How far one exchange has come, in bytes of the body.
public struct TransferProgress: Sendable, Hashable {
  /// Bytes of the request's body that were sent.
  public var sent: Int64
  /// Bytes of the response's body that were received.
  public var received: Int64
  /// The size that the response announced; `nil` where it announced none.
  public var expected: Int64?

  public init(sent: Int64 = 0, received: Int64 = 0, expected: Int64? = nil) {
    self.sent = sent
    self.received = received
    self.expected = expected
  }

  /// The received part of what was announced, in 0…1; `nil` where nothing was announced.
  public var fractionCompleted: Double? {
    guard let expected, expected > 0 else { return nil }
    return min(1, Double(received) / Double(expected))
  }
}
