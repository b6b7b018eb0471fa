import Foundation
import HTTPTypes
import ReactorCore

/// One record at a time.
extension PersistenceConformance.Check {
  private typealias Samples = PersistenceConformance.Samples

  static let keeping = [
    Self("what was never saved is nil") { subject in
      try await subject.expect(Samples.key(), holds: nil)
    },
    Self("a record comes back as it was saved") { subject in
      let key = Samples.key()
      try await subject.keeps(Samples.record(for: key), key)
    },
    Self("an empty body is kept") { subject in
      let key = Samples.key()
      try await subject.keeps(Samples.record(for: key, body: Data()), key)
    },
    Self("a body of 5 MB is kept") { subject in
      let key = Samples.key()
      try await subject.keeps(Samples.record(for: key, body: Samples.bytes(5_000_000, seed: 0x5A)), key)
    },
    Self("a loaded body begins at index 0") { subject in
      let key = Samples.key()
      try await subject.persistence.save(Samples.record(for: key), for: key)
      subject.expect(try await subject.persistence.load(key)?.body.startIndex == 0, "startIndex is not 0")
    },
    Self("texts and bytes beyond ASCII are kept") { subject in
      let key = Samples.key("%C3%BCber", scope: Scope("Zoë\r\n日本 \u{0}"))
      var record = Samples.record(for: key, body: Data("{\"名\": \"\u{1F980}\"}".utf8))
      record.head.localModel = "Ärticle<日本>"
      try await subject.keeps(record, key)
    },
    Self("fields keep their order, duplicates, spelling and bytes") { subject in
      let key = Samples.key()
      var record = Samples.record(for: key)
      record.head.fields = [:]
      let values: [[UInt8]] = [
        Array("one".utf8), [], Array("one".utf8), [0xFF, 0xFE, 0x80], Array("ü".utf8), [1, 9, 2],
      ]
      for (index, value) in values.enumerated() {
        guard let name = HTTPField.Name(index.isMultiple(of: 2) ? "X-Value" : "x-OTHER") else { continue }
        record.head.fields.append(HTTPField(name: name, lenientValue: value))
      }
      try await subject.keeps(record, key)
    },
    Self("status, times, invalidation, local model and variant are kept") { subject in
      let key = Samples.key()
      var record = Samples.record(for: key)
      record.head.status = HTTPResponse.Status(code: 404, reasonPhrase: "Nicht gefunden: ü")
      record.head.requestedAt = .distantPast
      record.head.receivedAt = Date(timeIntervalSinceReferenceDate: 0.1.nextUp)
      try await subject.keeps(record, key)
      record.head.invalidatedAt = Date(timeIntervalSinceReferenceDate: -1.0 / 3)
      record.head.localModel = ""
      record.head.variant = Variant(names: ["accept", "accept-language"], digest: "00ff")
      try await subject.keeps(record, key)
    },
    Self("keys of any length are kept apart, and so are keys that differ in case alone") { subject in
      let paths = ["a", "A", String(repeating: "long/", count: 2_000), String(repeating: "long/", count: 2_000) + "x"]
      for (index, path) in paths.enumerated() {
        let key = Samples.key(path)
        try await subject.persistence.save(Samples.record(for: key, body: Data([UInt8(index)])), for: key)
      }
      for (index, path) in paths.enumerated() {
        let key = Samples.key(path)
        try await subject.expect(key, holds: Samples.record(for: key, body: Data([UInt8(index)])), "key \(index)")
      }
    },
    Self("a record of another key is never given out, whether saving it throws or not") { subject in
      let key = Samples.key()
      let other = Samples.record(for: Samples.key("other"))
      try? await subject.persistence.save(other, for: key)
      let loaded = try? await subject.persistence.load(key)
      subject.expect(loaded == nil, "it was loaded")
    },
  ]

  static let replacing = [
    Self("a save replaces the record") { subject in
      let key = Samples.key()
      try await subject.keeps(Samples.record(for: key, body: Samples.bytes(100_000, seed: 1)), key)
      try await subject.keeps(Samples.record(for: key, body: Data("short".utf8)), key)
      try await subject.keeps(Samples.record(for: key, body: Samples.bytes(70_000, seed: 2)), key)
      subject.expect(try await subject.persistence.entries(in: nil, url: nil).count == 1, "more than one entry")
    }
  ]

  static let removing = [
    Self("a removed record is gone, and the others are not") { subject in
      let (key, other) = (Samples.key("a"), Samples.key("b"))
      for key in [key, other] { try await subject.persistence.save(Samples.record(for: key), for: key) }
      try await subject.persistence.remove(key)
      try await subject.expect(key, holds: nil)
      try await subject.expect(other, holds: Samples.record(for: other))
      try await subject.keeps(Samples.record(for: key), key)
    },
    Self("removing what is not there does nothing") { subject in
      try await subject.persistence.remove(Samples.key())
      try await subject.persistence.removeAll(in: "nobody")
      try await subject.persistence.removeAll(in: nil)
      subject.expect(try await subject.persistence.entries(in: nil, url: nil).isEmpty, "there are entries")
    },
    Self("scopes are apart, and are removed apart") { subject in
      // The last two are canonically equivalent Unicode strings with different bytes.
      let scopes: [Scope] = [.shared, "", "alice", "Alice", "alice\n", "../alice", "\u{E9}", "e\u{301}"]
      for (index, scope) in scopes.enumerated() {
        let key = Samples.key(scope: scope)
        try await subject.persistence.save(Samples.record(for: key, body: Data([UInt8(index)])), for: key)
      }
      for (index, scope) in scopes.enumerated() {
        let key = Samples.key(scope: scope)
        try await subject.expect(key, holds: Samples.record(for: key, body: Data([UInt8(index)])), "scope \(index)")
        try await subject.persistence.removeAll(in: scope)
        try await subject.expect(key, holds: nil, "scope \(index), removed")
        let left = try await subject.persistence.entries(in: nil, url: nil).count
        subject.expect(left == scopes.count - index - 1, "scope \(index), removed: \(left) records are left")
      }
    },
    Self("removeAll without a scope empties the store, which works on") { subject in
      let keys = [Samples.key("a"), Samples.key("b", scope: "alice")]
      for key in keys { try await subject.persistence.save(Samples.record(for: key), for: key) }
      try await subject.persistence.removeAll(in: nil)
      for key in keys { try await subject.expect(key, holds: nil) }
      for key in keys { try await subject.keeps(Samples.record(for: key), key) }
    },
  ]
}

extension PersistenceConformance.Subject {
  func keeps(_ record: Record, _ key: RecordKey) async throws {
    try await persistence.save(record, for: key)
    try await expect(key, holds: record)
  }
}
