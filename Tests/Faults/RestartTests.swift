#if os(macOS) || os(Linux)
  import Foundation
  import TestSupport
  import Testing

  /// Real processes: a single process would hide differences between two.
  @Suite(.timeLimit(.minutes(5))) struct `A restart` {
    @Test func `a restart keeps local writes and typed records of every kind of model type`() async throws {
      try await withTemporaryDirectory { directory in
        let (writer, path) = (try Program("StoreWriter"), directory.path(percentEncoded: false))
        let written = try await writer.output("models", path, "write").split(separator: "\n")
        let read = try await writer.output("models", path, "read").split(separator: "\n")
        #expect(written.count >= 16)
        #expect(written.filter { !$0.hasSuffix(" kept") } == [])
        #expect(read == written)
      }
    }
  }
#endif
