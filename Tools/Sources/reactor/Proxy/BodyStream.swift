import NIOCore

/// The body of a response that is passed on as it arrives, and not stored. It is read once.
///
/// The server's connection is read as fast as the client takes the body: with 16 parts in memory,
/// reading pauses. Dropping the stream, or cancelling the task that reads it, closes the
/// connection.
struct BodyStream: Sendable {
  fileprivate typealias Parts = NIOThrowingAsyncSequenceProducer<
    ByteBuffer, any Error, NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark, Connection
  >

  /// The reason for passing a body on as it arrives.
  enum Reason: String, Sendable {
    /// It is larger than the largest body that is stored.
    case tooLarge = "too-large"
    /// The memory of all bodies is taken.
    case noMemory = "no-memory"
    /// The response is a stream of events, which has no end.
    case eventStream = "event-stream"
  }

  let reason: Reason
  private let parts: Parts

  /// Passes each part to `body`, in order.
  ///
  /// - Throws: an error of `body`, `CancellationError`, or the reason why the rest of the body will
  ///   not come.
  func forEach(_ body: (ByteBuffer) async throws -> Void) async throws {
    for try await part in parts { try await body(part) }
    // The sequence of a cancelled task ends as if it were complete.
    try Task.checkCancellation()
  }

  /// The end at which the parts arrive. It belongs to the event loop of its channel.
  struct Source {
    private let source: Parts.Source
    private let channel: any Channel
    let stream: BodyStream

    init(_ channel: any Channel, _ reason: Reason = .tooLarge) {
      let made = Parts.makeSequence(
        elementType: ByteBuffer.self, backPressureStrategy: .init(lowWatermark: 4, highWatermark: 16),
        finishOnDeinit: true, delegate: Connection(channel: channel))
      source = made.source
      stream = BodyStream(reason: reason, parts: made.sequence)
      self.channel = channel
    }

    func yield(_ part: ByteBuffer) {
      if source.yield(part) == .stopProducing { channel.setOption(.autoRead, value: false).whenFailure { _ in } }
    }

    func finish() { source.finish() }
    func fail(_ error: any Error) { source.finish(error) }
  }

  fileprivate struct Connection: NIOAsyncSequenceProducerDelegate {
    let channel: any Channel

    func produceMore() { channel.setOption(.autoRead, value: true).whenFailure { _ in } }
    func didTerminate() { channel.close(promise: nil) }
  }
}
