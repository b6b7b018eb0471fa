/// The progress of one HTTP exchange, in bytes of its bodies.
///
/// Progress never goes back: a followed redirect stays in the stage that was reached. A request
/// that is sent again, by a ``RetryPolicy`` or with a new credential, is a new exchange, which
/// starts over.
public struct TransferProgress: Sendable, Hashable {
  /// The stages of an exchange, in order.
  public enum Stage: UInt8, Sendable, Hashable, Comparable {
    /// No part of the request's body has been sent.
    case connecting
    /// The request's body is being sent.
    case sending
    /// The request has been sent, and no response has begun. A request without a body starts in
    /// this stage.
    case waiting
    /// The response has begun.
    case receiving

    /// Compares by the order of the stages.
    public static func < (a: Stage, b: Stage) -> Bool { a.rawValue < b.rawValue }
  }

  /// The stage of the exchange.
  public var stage: Stage
  /// The number of bytes of the request's body that were sent.
  public var sent: Int64
  /// The size of the request's body in bytes; 0 without a body.
  public var toSend: Int64
  /// The number of bytes of the response's body that were received.
  public var received: Int64
  /// The announced size of the response's body in bytes; `nil` if none was announced. At the end,
  /// the number of bytes received.
  public var expected: Int64?

  /// Creates a progress value.
  ///
  /// - Parameter stage: The stage; `nil` derives it from the numbers.
  public init(
    stage: Stage? = nil, sent: Int64 = 0, toSend: Int64 = 0, received: Int64 = 0, expected: Int64? = nil
  ) {
    self.stage = stage ?? (expected != nil || received > 0 ? .receiving : sent > 0 ? .sending : .connecting)
    self.sent = sent
    self.toSend = toSend
    self.received = received
    self.expected = expected
  }

  /// The completed fraction of the exchange, latency included, in 0…1.
  ///
  /// The connection counts 5 %, the start of the response 15 % and the bodies 80 %, half of it for
  /// the request's body if there is one: `0.05 · connected + 0.15 · answered + 0.8 · transferred`.
  /// For a response of unknown size, the fraction is `received / (received + 64 KiB)` until it
  /// ends.
  public var fractionCompleted: Double {
    let connected = stage > .connecting ? 0.05 : 0
    let answered = stage == .receiving ? 0.15 : 0
    return min(1, connected + answered + 0.8 * transferred)
  }

  private var transferred: Double {
    guard toSend > 0 else { return receivedPart }
    return (Self.part(sent, of: Double(toSend)) + receivedPart) / 2
  }

  private var receivedPart: Double {
    guard stage == .receiving else { return 0 }
    return Self.part(received, of: expected.map(Double.init) ?? Double(max(0, received)) + 65_536)
  }

  /// An empty body counts as complete.
  private static func part(_ count: Int64, of total: Double) -> Double {
    total > 0 ? min(1, Double(max(0, count)) / total) : 1
  }
}

extension TransferProgress {
  /// Returns whether a body is being transferred, and the whole has advanced by a twentieth since
  /// `other`.
  func isWorthReporting(after other: TransferProgress?) -> Bool {
    let isWithin =
      switch stage {
      case .connecting, .waiting: false
      case .sending: sent > 0 && sent < toSend
      case .receiving: received > 0 && expected.map { received < $0 } ?? true
      }
    return isWithin && Int(fractionCompleted * 20) != Int((other?.fractionCompleted ?? 0) * 20)
  }
}
