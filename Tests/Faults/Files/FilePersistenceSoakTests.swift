#if os(macOS) || os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import ReactorCore

  @Suite struct `File persistence in the long run` {
    /// In a separate process, because its memory is measured.
    @Test func `the store stays under its limit, and memory stays flat`() async throws {
      await withTemporaryDirectory { directory in
        let path = directory.path(percentEncoded: false)
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
          [path = path as String] in
          try await `File persistence in the long run`.soak(URL(filePath: path))
        }
        print("Files:", String(decoding: result?.standardOutputContent ?? [], as: UTF8.self))
      }
    }

    private static func soak(_ directory: URL) async throws {
      let soak = Soak(share: 10)
      let store = FilePersistence(directory: directory, limit: soak.limit)
      try await soak.run(store, largest: soak.limit) {
        try files(in: directory, suffix: ".record").reduce(0) { try $0 + (attribute(.size, of: $1) as? Int ?? 0) }
      }
    }
  }
#endif
