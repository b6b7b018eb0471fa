import Foundation
import HTTPCaching
import ReactorConformance
import ReactorCore
import ReactorOutbox
import ReactorSQLite

/// The directory of a world with real stores: the files of its outboxes, and those that its users
/// choose. It is removed with the object.
final class OutboxFiles: Sendable {
  let directory: URL
  private let isDatabase: Bool
  /// It reads, and leaves each form as it is.
  private let reader: any FormStorage

  /// - Parameter isDatabase: `true` for a store in SQLite, in a build that has it.
  init(isDatabase: Bool) throws {
    // Files in memory, where the system has such, need no waiting for a disk.
    let memory = URL(filePath: "/dev/shm", directoryHint: .isDirectory)
    let isThere = FileManager.default.isWritableFile(atPath: memory.path())
    directory = (isThere ? memory : FileManager.default.temporaryDirectory)
      .appending(path: "reactor-world-\(UUID().uuidString)", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    self.isDatabase = isDatabase && Self.hasSQLite
    let changes: Set<FilePersistence.Failure.Operation> = [.remove, .rename]
    let system = FileSystem { call, path in
      if call == .lock, path.hasSuffix("/lock") { Self.awaitLock(path) }
      return changes.contains(call) && path.contains(".form-") ? .error(EACCES) : nil
    }
    reader = try Self.store(in: directory, isDatabase: self.isDatabase, system) { Date() }
  }

  // The next world has another directory.
  deinit { try? FileManager.default.removeItem(at: directory) }

  #if SQLite
    private static let hasSQLite = true
  #else
    private static let hasSQLite = false
  #endif

  private static func store(
    in directory: URL, isDatabase: Bool, _ system: FileSystem, now: @escaping @Sendable () -> Date
  ) throws -> any FormStorage {
    #if SQLite
      if isDatabase {
        return try SQLiteOutboxStorage(path: directory.appending(path: "outbox.sqlite").path(), files: system, now: now)
      }
    #endif
    return FileOutboxStorage(directory: directory.appending(path: "outbox"), system: system, now: now)
  }

  /// Waits until no program that a test is starting has the lock of the directory. A copy of this
  /// process has it for a moment, and nothing else: a simulation does one thing at a time. The
  /// store would wait too, but outside of the simulation.
  private static func awaitLock(_ path: String) {
    let descriptor = Foundation.open(path, O_RDWR)
    guard descriptor >= 0 else { return }
    while flock(descriptor, LOCK_EX) != 0 && errno == EINTR {}
    close(descriptor)
  }

  /// Returns the store as a process opens it. In a simulation, it copies forms on its caller's
  /// executor.
  func open(
    now: @escaping @Sendable () -> Date,
    _ fault: @escaping @Sendable (FilePersistence.Failure.Operation, String) -> FileSystem.Fault? = { _, _ in nil }
  ) throws -> any FormStorage {
    let system = FileSystem { call, path in
      if call == .lock, path.hasSuffix("/lock") { Self.awaitLock(path) }
      return fault(call, path)
    }
    return try Self.store(in: directory, isDatabase: isDatabase, system, now: now)
  }

  /// Returns what is stored of a scope. Unlike a process that reads, it removes no form.
  func contents(of scope: Scope) async -> OutboxContents { (try? await reader.contents(of: scope)) ?? OutboxContents() }

  /// Returns the copy of a form, whole or not; `nil` if there is none.
  func form(of id: UUID, in scope: Scope) async -> Data? {
    try? await reader.form(of: id, in: scope, contentType: "").body
  }

  /// The entries whose forms have a copy, whole or not.
  var forms: [UUID] {
    let outbox = directory.appending(path: isDatabase ? "outbox.sqlite-forms" : "outbox")
    let names = try? FileManager.default.contentsOfDirectory(atPath: outbox.path())
    return (names ?? []).sorted().compactMap(Self.id)
  }

  /// Returns the entry whose form has this path; `nil` for another file.
  static func id(ofFormAt path: String) -> UUID? {
    path.firstRange(of: ".form-").flatMap { UUID(uuidString: String(path[$0.upperBound...].prefix(36))) }
  }
}
