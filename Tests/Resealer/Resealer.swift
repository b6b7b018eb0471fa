import Foundation
import HTTPCaching
import ReactorOutbox
import ReactorSealing

/// Rotates keys and saves, for ever; made to be killed.
///
/// Its argument is a directory. On standard output: `saved`, a number and a version for each save
/// that has returned, and `rotated` for each complete rotation.
@main struct Resealer {
  private static let scope: Scope = "ada"

  static func main() async throws {
    #if Sealing
      guard CommandLine.arguments.count == 2 else {
        say("usage: Resealer DIRECTORY")
        exit(64)
      }
      let directory = URL(filePath: CommandLine.arguments[1])
      let keys = FileSealingKeys(directory: directory.appending(path: "keys"))
      let sealing = Sealing(keys: keys)
      let store = SealedPersistence(FilePersistence(directory: directory.appending(path: "records")), sealing: sealing)
      let outbox = SealedOutboxStorage(
        FileOutboxStorage(directory: directory.appending(path: "outbox")), sealing: sealing)
      do {
        try await fill(outbox)
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { try await save(to: store) }
          group.addTask { while true { try await rotate(keys, sealing, store, outbox) } }
          try await group.waitForAll()
        }
      } catch {
        say("failed \(error)")
        exit(70)
      }
    #else
      say("built without Sealing")
      exit(69)
    #endif
  }

  private static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

  #if Sealing
    private static func fill(_ outbox: SealedOutboxStorage) async throws {
      guard try await outbox.contents(of: scope).entries.isEmpty else { return }
      let lanes = (0..<8).map { "lane \($0)" }
      _ = try await outbox.commit(
        lanes.map { .add(StoredEntry(id: UUID(), lane: $0, bytes: Data($0.utf8))) }, in: scope)
    }

    private static func save(to store: SealedPersistence) async throws {
      var version = Int(Date().timeIntervalSince1970 * 1_000)
      while true {
        for number in 0..<24 {
          version += 1
          let key = RecordKey(method: .get, url: "https://api.example.com/\(number)", scope: scope)
          let head = Record.Head(
            identity: key.identity, status: .ok, fields: [:], requestedAt: Date(), receivedAt: Date())
          try await store.save(Record(head: head, body: Data("\(version)".utf8)), for: key)
          say("saved \(number) \(version)")
        }
      }
    }

    private static func rotate(
      _ keys: FileSealingKeys, _ sealing: Sealing, _ store: SealedPersistence, _ outbox: SealedOutboxStorage
    ) async throws {
      let key = try keys.addKey(of: scope).id
      sealing.reload()
      let reports = [try await store.reseal(in: scope), try await outbox.reseal(in: scope)]
      guard reports.allSatisfy({ $0.isComplete && $0.key == key }) else { return }
      try keys.removeOlderKeys(of: scope, keeping: key)
      sealing.reload()
      say("rotated")
    }
  #endif
}
