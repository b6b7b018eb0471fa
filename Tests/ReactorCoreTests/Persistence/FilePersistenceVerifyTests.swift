import Foundation
import HTTPTypes
import Testing

@testable import ReactorCore

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
        return try #require(files(in: directory).first { $0.lastPathComponent == "\(digest).record" })
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

@Suite struct `Until when a response is fresh by its own word` {
  private static let received = Date(timeIntervalSinceReferenceDate: 1_000)

  private func head(_ fields: HTTPFields, invalidatedAt: Date? = nil) -> Record.Head {
    let key = RecordKey.sample("note")
    var head = Record.Head(
      identity: key.identity, status: .ok, fields: fields, requestedAt: Self.received, receivedAt: Self.received)
    head.invalidatedAt = invalidatedAt
    return head
  }

  @Test(arguments: [
    ("max-age=60", 60.0), ("no-cache", 0), ("no-store, max-age=60", 0), ("max-age=60, must-revalidate", 60),
  ])
  func `what Cache-Control says counts from the answer`(control: String, seconds: Double) {
    #expect(head([.cacheControl: control]).freshUntil == Self.received.addingTimeInterval(seconds))
  }

  @Test func `an age is taken off, and what says nothing is fresh until nobody knows when`() {
    #expect(head([.cacheControl: "max-age=60", .age: "20"]).freshUntil == Self.received.addingTimeInterval(40))
    #expect(head([:]).freshUntil == nil)
  }

  @Test func `what was declared stale is fresh until then at most`() {
    let date = Self.received.addingTimeInterval(10)
    #expect(head([.cacheControl: "max-age=60"], invalidatedAt: date).freshUntil == date)
    #expect(head([:], invalidatedAt: date).freshUntil == date)
  }

  @Test func `a lifetime without an end is told as the distant future`() {
    let until = head([.cacheControl: "max-age=99999999999999999999"]).freshUntil
    #expect(until.map { $0 <= .distantFuture } == true)
  }
}
