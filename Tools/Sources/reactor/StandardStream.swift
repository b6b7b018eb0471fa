import Foundation

/// Standard output and standard error, unbuffered.
enum StandardStream {
  case output, error

  private var handle: FileHandle {
    switch self {
    case .output: .standardOutput
    case .error: .standardError
    }
  }

  /// - Throws: where nobody reads any more, or the disk behind it is full.
  func write(_ data: Data) throws { try handle.write(contentsOf: data) }

  /// Writes one line. That it cannot be written is not told: there is nobody to tell.
  func writeLine(_ text: String) { try? write(Data((text + "\n").utf8)) }
}
