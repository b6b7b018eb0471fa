import Foundation
import HTTPCaching
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@Suite struct `Persistence conformance` {
  @Test func `memory keeps the contract`() async throws {
    try await PersistenceConformance { MemoryPersistence() }.run()
  }

  @Test(arguments: [FilePersistence.Synchronization.normal, .full])
  func `files keep the contract`(_ synchronization: FilePersistence.Synchronization) async throws {
    try await withTemporaryDirectory { directory in
      try await PersistenceConformance(opening: {
        let store = directory.appending(path: UUID().uuidString)
        return { FilePersistence(directory: store, synchronization: synchronization) }
      }).run()
    }
  }

  @Test func `a faulty persistence without faults keeps the contract`() async throws {
    try await PersistenceConformance { FaultyPersistence() }.run()
  }

  @Test(arguments: Defect.allCases)
  func `a persistence that breaks the contract is found`(_ defect: Defect) async throws {
    await withKnownIssue {
      try await PersistenceConformance { DefectivePersistence(defect: defect) }.run()
    }
  }
}

enum Defect: String, CaseIterable, Sendable {
  case forgets, cutsBodies, ignoresCase, mixesScopes, neverRemoves, ignoresURLs, roundsTimes, sortsFields, slices,
    encodesURLs,
    namesNoVariants, makesSecretKeys
}

/// Keeps the contract but for one thing.
private struct DefectivePersistence: Persistence {
  let base = MemoryPersistence()
  let defect: Defect

  func load(_ key: RecordKey) async throws -> Record? {
    var record = try await base.load(spelled(key))
    if let identity = record?.head.identity, identity != key.identity { record?.head.identity = key.identity }
    if defect == .slices, let body = record?.body { record?.body = (Data([0]) + body).dropFirst() }
    return record
  }

  func save(_ record: Record, for key: RecordKey) async throws {
    var record = record
    record.head.identity = spelled(key).identity
    switch defect {
    case .forgets: return
    case .cutsBodies: record.body = record.body.prefix(1_000_000)
    case .roundsTimes:
      record.head.receivedAt = Date(
        timeIntervalSinceReferenceDate: record.head.receivedAt.timeIntervalSinceReferenceDate.rounded())
    case .sortsFields: record.head.fields.sort { $0.name.rawName < $1.name.rawName }
    default: break
    }
    try await base.save(record, for: spelled(key))
  }

  func remove(_ key: RecordKey) async throws {
    if defect != .neverRemoves { try await base.remove(spelled(key)) }
  }

  func removeAll(in scope: Scope?) async throws { try await base.removeAll(in: scope) }

  func entries(in scope: Scope?, url: String?) async throws -> [Record.Entry] {
    switch defect {
    case .ignoresURLs: try await base.entries(in: scope, url: nil)
    case .encodesURLs: try await base.entries(in: scope, url: url.map { URL(string: $0)?.absoluteString ?? "" })
    case .namesNoVariants:
      try await base.entries(in: scope, url: url).filter { url == nil || !$0.key.identity.contains(":variant=") }
    default: try await base.entries(in: scope, url: url)
    }
  }

  func secretKey() -> RecordKey.SecretKey? { defect == .makesSecretKeys ? RecordKey.SecretKey() : nil }

  private func spelled(_ key: RecordKey) -> RecordKey {
    switch defect {
    case .ignoresCase: RecordKey(method: key.method, url: key.url.lowercased(), scope: key.scope)
    case .mixesScopes: RecordKey(method: key.method, url: key.url)
    default: key
    }
  }
}
