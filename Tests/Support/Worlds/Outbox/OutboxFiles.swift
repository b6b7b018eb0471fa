import Foundation
import HTTPCaching
import ReactorConformance
import ReactorCore
import ReactorOutbox

/// The directory of a world with uploads: the real files of its outboxes, and those that its users
/// choose. It is removed with the object.
final class OutboxFiles: Sendable {
  let directory: URL
  /// It reads, and leaves each form as it is.
  private let reader: FileOutboxStorage

  init() throws {
    // Files in memory, where the system has such, need no waiting for a disk.
    let memory = URL(filePath: "/dev/shm", directoryHint: .isDirectory)
    let isThere = FileManager.default.isWritableFile(atPath: memory.path())
    directory = (isThere ? memory : FileManager.default.temporaryDirectory)
      .appending(path: "reactor-world-\(UUID().uuidString)", directoryHint: .isDirectory)
    let changes: Set<FilePersistence.Failure.Operation> = [.remove, .rename]
    let system = FileSystem { call, _ in changes.contains(call) ? .error(EACCES) : nil }
    reader = FileOutboxStorage(directory: Self.outbox(in: directory), system: system)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  // The next world has another directory.
  deinit { try? FileManager.default.removeItem(at: directory) }

  private static func outbox(in directory: URL) -> URL { directory.appending(path: "outbox") }

  /// Returns the store as a process opens it.
  func open(
    now: @escaping @Sendable () -> Date,
    _ fault: @escaping @Sendable (FilePersistence.Failure.Operation, String) -> FileSystem.Fault? = { _, _ in nil }
  ) -> some FormStorage {
    let (url, system, claims) = (Self.outbox(in: directory), FileSystem(fault: fault), FormClaims())
    return ProcessStore(
      base: FileOutboxStorage(directory: url, system: system, claims: claims, now: now),
      forms: FormDirectory(path: url.path(), system: system, claims: claims))
  }

  /// Returns what is stored of a scope. Unlike a process that reads, it removes no form.
  func contents(of scope: Scope) async -> OutboxContents { (try? await reader.contents(of: scope)) ?? OutboxContents() }

  /// Returns the copy of a form, whole or not; `nil` if there is none.
  func form(of id: UUID, in scope: Scope) async -> Data? {
    try? await reader.form(of: id, in: scope, contentType: "").body
  }

  /// The entries whose forms have a copy, whole or not.
  var forms: [UUID] {
    let names = try? FileManager.default.contentsOfDirectory(atPath: Self.outbox(in: directory).path())
    return (names ?? []).sorted().compactMap(Self.id)
  }

  /// Returns the entry whose form has this path; `nil` for another file.
  static func id(ofFormAt path: String) -> UUID? {
    path.firstRange(of: ".form-").flatMap { UUID(uuidString: String(path[$0.upperBound...].prefix(36))) }
  }
}

/// A store in files that copies forms on its caller's thread, as nothing else runs in a simulation.
private struct ProcessStore: FormStorage {
  let base: FileOutboxStorage
  let forms: FormDirectory

  func keep(
    _ form: MultipartForm, for id: UUID, in scope: Scope, unless isUnwanted: @escaping @Sendable () -> Bool
  ) async throws -> KeptForm {
    try forms.keep(form, for: id, in: scope, unless: isUnwanted)
  }

  func removeAll(
    in scope: Scope, keeping ids: Set<UUID>, andCopiesOf copies: @escaping @Sendable () -> Set<UUID>
  ) async throws {
    try await base.removeAll(in: scope, keeping: ids, andCopiesOf: copies)
  }

  func form(of id: UUID, in scope: Scope, contentType: String) async throws -> EncodedForm {
    try await base.form(of: id, in: scope, contentType: contentType)
  }

  func contents(of scope: Scope) async throws -> OutboxContents { try await base.contents(of: scope) }

  func commit(_ changes: [OutboxChange], in scope: Scope) async throws -> [UInt64] {
    try await base.commit(changes, in: scope)
  }

  func claim(_ id: UUID, in scope: Scope, by process: UUID, now: Date, until: Date) async throws -> StoredEntry? {
    try await base.claim(id, in: scope, by: process, now: now, until: until)
  }

  func release(_ id: UUID, in scope: Scope, by process: UUID) async throws {
    try await base.release(id, in: scope, by: process)
  }

  func removeAll(in scope: Scope?) async throws { try await base.removeAll(in: scope) }

  func removeAll(in scope: Scope, keeping ids: Set<UUID>) async throws {
    try await base.removeAll(in: scope, keeping: ids)
  }
}
