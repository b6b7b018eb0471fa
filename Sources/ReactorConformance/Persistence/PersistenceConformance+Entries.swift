import Foundation
import HTTPTypes
import ReactorCore

/// Lists, and concurrent calls.
extension PersistenceConformance {
  static let listing = [
    Check("an entry has the key, the size and the time of the response") { subject in
      let key = RecordKey(
        method: .post, url: "https://api.example.com/search?token=x", body: Data("q".utf8),
        identityFields: [.acceptLanguage: "de"], scope: "alice", secretQueryItems: ["token"])
      let record = Samples.record(for: key, body: Samples.bytes(300, seed: 1))
      try await subject.persistence.save(record, for: key)
      let entries = try await subject.persistence.entries(in: nil, url: nil)
      subject.expect(entries.count == 1, "entries(in:url:) lists \(entries.count) entries, not 1")
      subject.expect(entries.first?.key == key, "the entry has the key \(entries.first?.key, default: "none")")
      subject.expect(entries.first.map { $0.size >= 300 } == true, "the entry's size is less than the size of its body")
      subject.expect(
        entries.first?.fetchedAt == record.head.receivedAt, "the entry's fetchedAt is not the record's receivedAt")
    },
    Check("entries are filtered by scope and by URL") { subject in
      let keys = ["a", "b"].flatMap { path in ["alice", "bob"].map { Samples.key(path, scope: Scope($0)) } }
      for key in keys { try await subject.persistence.save(Samples.record(for: key), for: key) }
      for scope in [nil, Scope("alice"), "nobody"] as [Scope?] {
        for url in [nil, keys[0].url, "https://api.example.com/none"] {
          let found = try await subject.persistence.entries(in: scope, url: url)
          let expected = keys.filter { (scope == nil || $0.scope == scope) && (url == nil || $0.url == url) }
          let isRight = found.count == expected.count && Set(found.map(\.key)) == Set(expected)
          subject.expect(
            isRight, "entries(in: \(scope, default: "nil"), url: \(url, default: "nil")) lists \(found.map(\.key))")
        }
      }
    },
    Check("two variants of one URL are each found by their own request, and removed together") { subject in
      let key = RecordKey(method: .get, url: Samples.urls[0], scope: .shared)
      let cache = HTTPCache(persistence: subject.persistence)
      for language in ["de", "fr"] {
        let variant = Record.Variant(response: [.vary: "Accept-Language"], request: [.acceptLanguage: language])
        try await cache.store(Samples.record(for: key, body: Data(language.utf8), variant: variant), for: key)
      }
      for language in ["de", "fr"] {
        let found = try await cache.lookUp(key, for: [.acceptLanguage: language])
        subject.expect(found?.body == Data(language.utf8), "the request for \(language) did not find its variant")
      }
      try await cache.remove(key)
      let left = try await subject.persistence.entries(in: nil, url: nil).count
      subject.expect(left == 0, "\(left) records are left after the removal of their URL")
    },
    Check("the entries of a URL are all its variants, by all methods and in all scopes, and nothing else") { subject in
      for url in Samples.urls {
        for scope in ["alice", "bob"] as [Scope] {
          let get = RecordKey(method: .get, url: url, scope: scope)
          let cache = HTTPCache(persistence: subject.persistence)
          for language in ["de", "fr", "en"] {
            let variant = Record.Variant(response: [.vary: "Accept-Language"], request: [.acceptLanguage: language])
            try await cache.store(Samples.record(for: get, variant: variant), for: get)
          }
          let post = RecordKey(method: .post, url: url, body: Data("q".utf8), scope: scope)
          let german = RecordKey(method: .head, url: url, identityFields: [.acceptLanguage: "de"], scope: scope)
          for key in [post, german] { try await subject.persistence.save(Samples.record(for: key), for: key) }
        }
      }
      for url in Samples.urls {
        for scope in [nil, "alice", "nobody"] as [Scope?] {
          let keys = try await subject.persistence.entries(in: scope, url: url).map(\.key)
          let expected = scope == nil ? 10 : scope == "nobody" ? 0 : 5
          let isRight = keys.count == expected && Set(keys).count == expected && keys.allSatisfy { $0.url == url }
          subject.expect(
            isRight, "entries(in: \(scope, default: "nil"), url: \(url)) lists \(keys.count) entries, not \(expected)")
        }
      }
    },
  ]

  static let concurrency = [
    Check("of concurrent saves of one key, one record remains, whole") { subject in
      let key = Samples.key()
      let records = (0..<32).map { Samples.record(for: key, body: Samples.bytes(20_000 + $0, seed: UInt8($0))) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for record in records {
          group.addTask { try await subject.persistence.save(record, for: key) }
          group.addTask {
            let loaded = try await subject.persistence.load(key)
            subject.expect(loaded.map(records.contains) ?? true, "a load returned a record that was never saved")
          }
        }
        try await group.waitForAll()
      }
      let last = try await subject.persistence.load(key)
      subject.expect(last.map(records.contains) == true, "the remaining record was never saved")
    },
    Check("concurrent saves, loads and removals of many keys do not disturb each other") { subject in
      let keys = (0..<64).map { Samples.key("\($0)", scope: Scope("user \($0 % 4)")) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (index, key) in keys.enumerated() {
          group.addTask {
            let record = Samples.record(for: key, body: Samples.bytes(1_000, seed: UInt8(index)))
            try await subject.keeps(record, key)
            _ = try await subject.persistence.entries(in: key.scope, url: nil)
            guard index.isMultiple(of: 2) else { return }
            try await subject.persistence.remove(key)
            try await subject.expect(key, holds: nil)
          }
        }
        try await group.waitForAll()
      }
      let left = Set(try await subject.persistence.entries(in: nil, url: nil).map(\.key))
      subject.expect(
        left == Set(keys.indices.filter { !$0.isMultiple(of: 2) }.map { keys[$0] }),
        "the listed records are not the remaining ones")
    },
  ]
}
