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

  /// - Throws: where nobody reads any more, or the disk behind it is full.
  func write(_ data: Data) throws { try handle.write(contentsOf: data) }

  /// Writes as ``write(_:)``, on a thread that may block. A caller that is cancelled is let go at once, though nobody reads; the
  /// end of `data` may then be missing.
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

  /// Returns `true` once nobody reads any more, `false` when cancelled. The thread that looks out for it ends with the process.
  func untilNobodyReads() async -> Bool {
    let (ends, end) = AsyncStream.makeStream(of: Bool.self)
    Thread.detachNewThread { if hangsUp() { end.yield(true) } }
    return await ends.first { $0 } ?? false
  }

  /// Waits for it; `false` where the system does not tell.
  private func hangsUp() -> Bool {
    // Darwin tells of it only whoever asks for an event too.
    var polled = pollfd(fd: handle.fileDescriptor, events: Int16(POLLRDBAND), revents: 0)
    while poll(&polled, 1, -1) < 0 && errno == EINTR {}
    return polled.revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0
  }

  /// Writes one line. That it cannot be written is not told: there is nobody to tell.
  func writeLine(_ text: String) { try? write(Data((text + "\n").utf8)) }
}
