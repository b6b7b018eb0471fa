import Foundation
import HTTPTypes
import ReactorCore

/// One record at a time.
extension PersistenceConformance {
  static let keeping = [
    Check("load(_:) returns nil for a key that was never saved") { subject in
      try await subject.expect(Samples.key(), holds: nil)
    },
    Check("a record is loaded as it was saved") { subject in
      let key = Samples.key()
      try await subject.keeps(Samples.record(for: key), key)
    },
    Check("an empty body is stored") { subject in
      let key = Samples.key()
      try await subject.keeps(Samples.record(for: key, body: Data()), key)
    },
    Check("a body of 5 MB is stored") { subject in
      let key = Samples.key()
      try await subject.keeps(Samples.record(for: key, body: Samples.bytes(5_000_000, seed: 0x5A)), key)
    },
    Check("a loaded body begins at index 0") { subject in
      let key = Samples.key()
      try await subject.persistence.save(Samples.record(for: key), for: key)
      subject.expect(
        try await subject.persistence.load(key)?.body.startIndex == 0,
        "the body's startIndex is not 0; copy the bytes with Data(_:)")
    },
    Check("texts and bytes beyond ASCII are stored") { subject in
      let key = Samples.key("%C3%BCber", scope: Scope("Zoë\r\n日本 \u{0}"))
      var record = Samples.record(for: key, body: Data("{\"名\": \"\u{1F980}\"}".utf8))
      record.head.localModel = "Ärticle<日本>"
      try await subject.keeps(record, key)
    },
    Check("fields keep their order, duplicates, spelling and bytes") { subject in
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
    Check("status, times, invalidation, local model and variant are stored") { subject in
      let key = Samples.key()
      var record = Samples.record(for: key)
      record.head.status = HTTPResponse.Status(code: 404, reasonPhrase: "Nicht gefunden: ü")
      record.head.requestedAt = .distantPast
      record.head.receivedAt = Date(timeIntervalSinceReferenceDate: 0.1.nextUp)
      try await subject.keeps(record, key)
      record.head.invalidatedAt = Date(timeIntervalSinceReferenceDate: -1.0 / 3)
      record.head.localModel = ""
      record.head.variant = Record.Variant(names: ["accept", "accept-language"], digest: "00ff")
      try await subject.keeps(record, key)
    },
    Check("keys of any length are distinct, and so are keys that differ only in case") { subject in
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
    Check("load(_:) never returns a record of another key, whether its save throws or not") { subject in
      let key = Samples.key()
      let other = Samples.record(for: Samples.key("other"))
      try? await subject.persistence.save(other, for: key)
      let loaded = try? await subject.persistence.load(key)
      subject.expect(loaded == nil, "load(_:) returned the record of another key")
    },
  ]

  static let replacing = [
    Check("a save replaces the record") { subject in
      let key = Samples.key()
      try await subject.keeps(Samples.record(for: key, body: Samples.bytes(100_000, seed: 1)), key)
      try await subject.keeps(Samples.record(for: key, body: Data("short".utf8)), key)
      try await subject.keeps(Samples.record(for: key, body: Samples.bytes(70_000, seed: 2)), key)
      subject.expect(
        try await subject.persistence.entries(in: nil, url: nil).count == 1,
        "entries(in:url:) does not list one entry after three saves of one key")
    }
  ]

  static let removing = [
    Check("a removed record is gone, and the others stay") { subject in
      let (key, other) = (Samples.key("a"), Samples.key("b"))
      for key in [key, other] { try await subject.persistence.save(Samples.record(for: key), for: key) }
      try await subject.persistence.remove(key)
      try await subject.expect(key, holds: nil)
      try await subject.expect(other, holds: Samples.record(for: other))
      try await subject.keeps(Samples.record(for: key), key)
    },
    Check("removing a missing record does nothing") { subject in
      try await subject.persistence.remove(Samples.key())
      try await subject.persistence.removeAll(in: "nobody")
      try await subject.persistence.removeAll(in: nil)
      subject.expect(
        try await subject.persistence.entries(in: nil, url: nil).isEmpty,
        "entries(in:url:) lists records of an empty store")
    },
    Check("scopes are separate, and are removed separately") { subject in
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
        try await subject.expect(key, holds: nil, "scope \(index), after its removal")
        let left = try await subject.persistence.entries(in: nil, url: nil).count
        subject.expect(
          left == scopes.count - index - 1, "after the removal of scope \(index), the number of records is \(left)")
      }
    },
    Check("removeAll(in: nil) empties the store, which stays usable") { subject in
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
