import Foundation
import TestSupport
import Testing

@testable import HTTPCaching

@Suite struct `Verifying a directory of records` {
  @Test func `each record that cannot be read is named with its file, and the others are not`() async throws {
    try await withTemporaryDirectory { directory in
      let persistence = FilePersistence(directory: directory)
      #expect(try await persistence.verify().isEmpty)
      for name in ["good", "flipped", "cut", "moved"] {
        let key = RecordKey.sample(name)
        try await persistence.save(.sample(key, "body of \(name)"), for: key)
      }
      #expect(try await persistence.verify().isEmpty)
      let paths = try ["flipped", "cut", "moved"].map { name in
        let digest = RecordKey.sample(name).digest
        return try #require(files(in: directory).first { $0.lastPathComponent.hasSuffix("-\(digest).record") })
          .path(percentEncoded: false)
      }
      var bytes = try Data(contentsOf: URL(filePath: paths[0]))
      bytes[bytes.count - 1] ^= 1
      try bytes.write(to: URL(filePath: paths[0]))
      try Data(contentsOf: URL(filePath: paths[1])).dropLast().write(to: URL(filePath: paths[1]))
      let other = paths[2].replacing(RecordKey.sample("moved").digest, with: RecordKey.sample("elsewhere").digest)
      try FileManager.default.moveItem(atPath: paths[2], toPath: other)
      let defects = try await persistence.verify()
      #expect(Set(defects.map(\.place)) == [paths[0], paths[1], other])
      #expect(defects.allSatisfy { !$0.reason.isEmpty && !$0.description.contains("body of") })
      #expect(files(in: directory, suffix: ".record").count == 4)
    }
  }
}
