import Dispatch
import Foundation

/// Standard output and standard error, unbuffered.
enum StandardStream {
  case output, error

  private static let writers = DispatchQueue(label: "reactor.standard-stream")

  private var handle: FileHandle {
    switch self {
    case .output: .standardOutput
    case .error: .standardError
    }
  }

  /// Writes all of `data`.
  ///
  /// - Throws: An error, if the reader has closed the stream or the disk behind it is full.
  func write(_ data: Data) throws { try handle.write(contentsOf: data) }

  /// Writes like ``write(_:)``, on a thread that may block.
  ///
  /// A cancelled caller returns at once, even if nothing reads the stream. The end of `data` may
  /// then be missing.
  func writeUnlessCancelled(_ data: Data) async throws {
    let (ends, end) = AsyncThrowingStream.makeStream(of: Never.self)
    Self.writers.async {
      do {
        try write(data)
        end.finish()
      } catch {
        end.finish(throwing: error)
      }
    }
    for try await _ in ends {}
  }

  /// Returns `true` once the reader has closed the stream, or `false` when cancelled. Its thread
  /// lives until the process ends.
  func untilNobodyReads() async -> Bool {
    let (ends, end) = AsyncStream.makeStream(of: Bool.self)
    Thread.detachNewThread { if hangsUp() { end.yield(true) } }
    return await ends.first { $0 } ?? false
  }

  /// Blocks until the reader has closed the stream. Returns `false` if the system does not report
  /// it.
  private func hangsUp() -> Bool {
    // Darwin reports a hang-up only if an event is requested too.
    var polled = pollfd(fd: handle.fileDescriptor, events: Int16(POLLRDBAND), revents: 0)
    while poll(&polled, 1, -1) < 0 && errno == EINTR {}
    return polled.revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0
  }

  /// Writes one line. Errors are ignored, since there is nowhere to report them.
  func writeLine(_ text: String) { try? write(Data((text + "\n").utf8)) }
}
