#if canImport(Darwin)
  import Dispatch
  import Synchronization
#endif

extension ReactorConfiguration {
  /// A source of the moments at which a program should use less memory.
  ///
  /// ```swift
  /// configuration.memoryPressure = CgroupMemoryPressure()  // of ReactorOperators, on Linux
  /// ```
  public protocol MemoryPressure: Sendable {
    /// A stream with an element for each warning, from the access on.
    ///
    /// Each access makes a new stream, which ends when its reader does. Warnings that the reader
    /// has not yet seen may be merged into one element.
    var warnings: AsyncStream<Void> { get }
  }
}

#if canImport(Darwin)
  extension ReactorConfiguration {
    /// The memory pressure that an Apple system reports, both as a warning and as critical.
    public struct SystemMemoryPressure: MemoryPressure {
      /// Creates the source. Nothing is observed until ``warnings`` is read.
      public init() {}

      /// A new stream of the warnings; buffers one element.
      public var warnings: AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let source = DispatchSource.makeMemoryPressureSource(
          eventMask: [.warning, .critical], queue: .global(qos: .utility))
        source.setEventHandler { continuation.yield() }
        source.activate()
        let running = RunningSource(source)
        continuation.onTermination = { _ in running.cancel() }
        return stream
      }
    }
  }

  private final class RunningSource: Sendable {
    private let source: Mutex<any DispatchSourceMemoryPressure>

    init(_ source: sending any DispatchSourceMemoryPressure) { self.source = Mutex(source) }

    func cancel() { source.withLock { $0.cancel() } }
  }

  let systemMemoryPressure: (any ReactorConfiguration.MemoryPressure)? = ReactorConfiguration.SystemMemoryPressure()
#else
  let systemMemoryPressure: (any ReactorConfiguration.MemoryPressure)? = nil
#endif
