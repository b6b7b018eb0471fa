import Foundation

enum Console {
  /// A line on the standard output at once, as somebody may wait for it at the other end of a pipe.
  static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
}
