import ReactorCore

/// The key under which secrets in URLs are digested.
extension PersistenceConformance {
  static let secrets = [
    Check("secretKey() stays the same, also after removeAll(in:)") { subject in
      let first = subject.persistence.secretKey()
      let key = Samples.key()
      try await subject.keeps(Samples.record(for: key), key)
      try await subject.persistence.removeAll(in: key.scope)
      subject.expect(subject.persistence.secretKey() == first, "the key changed with the removal of a scope")
      try await subject.persistence.removeAll(in: nil)
      subject.expect(subject.persistence.secretKey() == first, "the key changed with removeAll(in: nil)")
      subject.expect(try await subject.open().secretKey() == first, "the key changed when the store was opened again")
    },
    Check("instances that are opened concurrently have the same secret key") { subject in
      let keys = try await withThrowingTaskGroup(of: RecordKey.SecretKey?.self) { group in
        for _ in 0..<8 { group.addTask { try await subject.open().secretKey() } }
        return try await group.reduce(into: Set()) { $0.insert($1) }
      }
      subject.expect(
        keys == [subject.persistence.secretKey()],
        "the instances have \(keys.count) keys, or another than the first instance")
    },
    Check("the secret key is not listed as a record") { subject in
      _ = subject.persistence.secretKey()
      subject.expect(
        try await subject.persistence.entries(in: nil, url: nil).isEmpty, "entries(in:url:) lists the secret key")
    },
  ]
}
