import Foundation

enum Console {
  /// Writes a line to standard output at once, since a program may wait for it at the other end of
  /// a pipe.
  static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
}
