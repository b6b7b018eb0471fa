public import Foundation

extension Resource {
  /// The same resource with a file's bytes as its body.
  ///
  /// The file is mapped into memory where its file system allows that, and read where not. It must stay as it is until the fetch has
  /// ended: a mapped file that becomes shorter ends the process. `AsyncHTTPClientTransport` copies it piece by piece as it goes
  /// out; ``URLSessionTransport`` hands it to the platform, which on Linux makes a copy of it.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)`` where the file cannot be read.
  public func body(contentsOf file: URL) throws(ReactorError) -> Resource {
    var resource = self
    do {
      resource.body = try Data(contentsOf: file, options: .mappedIfSafe)
    } catch {
      throw .invalidResource("the body's file \(file.lastPathComponent) cannot be read: \(error.localizedDescription)")
    }
    return resource
  }
}
