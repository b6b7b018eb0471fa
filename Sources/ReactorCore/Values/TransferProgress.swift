/// How far one exchange has come, in bytes of the bodies.
///
/// It never goes back: a redirect that is followed stays in the stage that was reached. A request that is sent again, by a
/// ``RetryPolicy`` or with a new credential, is another exchange: it begins anew.
public struct TransferProgress: Sendable, Hashable {
  /// What the exchange is doing.
  public enum Stage: UInt8, Sendable, Hashable, Comparable {
    /// Nothing of a body has gone out.
    case connecting
    /// The request's body is going out.
    case sending
    /// The request is with the network, and there is no answer yet. A request without a body waits from the beginning.
    case waiting
    /// The answer has begun.
    case receiving

    public static func < (a: Stage, b: Stage) -> Bool { a.rawValue < b.rawValue }
  }

  public var stage: Stage
  /// Bytes of the request's body that were sent.
  public var sent: Int64
  /// The size of the request's body; 0 where there is none.
  public var toSend: Int64
  /// Bytes of the response's body that were received.
  public var received: Int64
  /// The size that the response announced; `nil` where it announced none. At the end, what was received.
  public var expected: Int64?

  /// - Parameter stage: `nil`: what the numbers say.
  public init(
    stage: Stage? = nil, sent: Int64 = 0, toSend: Int64 = 0, received: Int64 = 0, expected: Int64? = nil
  ) {
    self.stage = stage ?? (expected != nil || received > 0 ? .receiving : sent > 0 ? .sending : .connecting)
    self.sent = sent
    self.toSend = toSend
    self.received = received
    self.expected = expected
  }

  /// The part of the exchange that is over, latency included, in 0…1.
  ///
  /// Having a connection counts 5 %, the server's first word 15 %, and the bodies 80 %, half of which is the request's where it has
  /// one: `0.05 · connected + 0.15 · answered + 0.8 · transferred`. Of a response that announces no size, the part that is there
  /// is `received / (received + 64 KiB)`, until it has ended.
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

  /// All of nothing is 1.
  private static func part(_ count: Int64, of total: Double) -> Double {
    total > 0 ? min(1, Double(max(0, count)) / total) : 1
  }
}

extension TransferProgress {
  /// Returns whether it is in the midst of a body, and a twentieth of the whole further than what
  /// was known before.
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
