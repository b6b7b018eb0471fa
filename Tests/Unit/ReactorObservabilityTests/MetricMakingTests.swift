#if Observability
  import CoreMetrics
  import MetricsTestKit
  import ReactorFleet
  import ReactorObservability
  import Synchronization
  import Testing

  /// A backend that calls its program back while it makes a recorder.
  private final class CallingBack: MetricsFactory {
    final class Values: RecorderHandler {
      let dimensions: [(String, String)]
      private let values = Mutex<[Double]>([])

      init(_ dimensions: [(String, String)]) { self.dimensions = dimensions }

      var recorded: [Double] { values.withLock(\.self) }
      func record(_ value: Int64) { values.withLock { $0.append(Double(value)) } }
      func record(_ value: Double) { values.withLock { $0.append(value) } }
    }

    /// Called once.
    let whileMaking = Mutex<(@Sendable () -> Void)?>(nil)
    private let made = Mutex<[Values]>([])
    private let others = TestMetrics()

    /// The values of each recorder that was made for a state.
    func values(_ state: String) -> [[Double]] {
      made.withLock(\.self).filter { $0.dimensions.contains { $0 == ("state", state) } }.map(\.recorded)
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
      let own = whileMaking.withLock { $0.take() }
      own?()
      let values = Values(dimensions)
      made.withLock { $0.append(values) }
      return values
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
      others.makeCounter(label: label, dimensions: dimensions)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
      others.makeTimer(label: label, dimensions: dimensions)
    }

    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
  }

  @Suite struct `A metric is made` {
    @Test func `metrics are made without a lock, and the first of two made at once is used`() {
      let backend = CallingBack()
      let observability = Observability(metrics: backend)
      backend.whileMaking.withLock { $0 = { observability.fleetChanged(.following, nil) } }
      observability.fleetChanged(.off, nil)
      // The second was made first, in the middle of the other. The instrument that is made after it
      // gets nothing.
      #expect(backend.values("off") == [[0, 1], []])
      #expect(backend.values("following") == [[1, 0]])
      observability.fleetChanged(.off, nil)
      #expect(backend.values("off") == [[0, 1, 1], []])
    }
  }
#endif
