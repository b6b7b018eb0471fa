import Foundation
import HTTPCaching
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorOutbox

/// A storage that returns from the copy of a form once a gate is open.
struct HeldForms: FormStorage {
  let base: any FormStorage
  let gate = Gate()
  /// The point at which a removal waits.
  let removals = Gate(isOpen: true)
  /// Called when a copy begins, and when it ends.
  let copying = Shared<(@Sendable (_ isCopying: Bool) -> Void)?>(nil)
  /// Called after each commit, before its caller goes on.
  let committed = Shared<(@Sendable () -> Void)?>(nil)

  func keep(
    _ form: MultipartForm, for id: UUID, in scope: Scope, unless isUnwanted: @escaping @Sendable () -> Bool
  ) async throws -> KeptForm {
    copying.value?(true)
    defer { copying.value?(false) }
    let kept = try await base.keep(form, for: id, in: scope, unless: isUnwanted)
    try await gate.wait()
    return kept
  }

  func form(of id: UUID, in scope: Scope, contentType: String) async throws -> EncodedForm {
    try await base.form(of: id, in: scope, contentType: contentType)
  }

  func contents(of scope: Scope) async throws -> OutboxContents { try await base.contents(of: scope) }

  func commit(_ changes: [OutboxChange], in scope: Scope) async throws -> [UInt64] {
    let numbers = try await base.commit(changes, in: scope)
    committed.value?()
    return numbers
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

  func removeAll(
    in scope: Scope, keeping ids: Set<UUID>, andCopiesOf copies: @escaping @Sendable () -> Set<UUID>
  ) async throws {
    await removals.waitIgnoringCancellation()
    try await base.removeAll(in: scope, keeping: ids, andCopiesOf: copies)
  }
}

/// A suite that uploads a file through the outbox.
protocol Uploading {}

extension Uploading {
  /// Calls `body` with the outbox's directory and a file to upload.
  func withFile(_ body: (URL, URL) async throws -> Void) async throws {
    try await withTemporaryDirectory { parent in
      try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
      let file = parent.appending(path: "sunset.jpg")
      try Data(repeating: 7, count: 300_000).write(to: file)
      try await body(parent.appending(path: "outbox"), file)
    }
  }

  func request(_ file: URL) throws -> OutboxRequest {
    OutboxRequest(
      url: try #require(URL(string: "https://other.example.com/photos")),
      form: [.field("title", "Sunset"), .file("photo", at: file)])
  }

  func forms(in directory: URL) -> [URL] { files(in: directory).filter { $0.path().contains(".form-") } }

  func parts(_ received: ScriptedTransport.Received) throws -> [MultipartBody.Part] {
    let type = received.request.headerFields[.contentType]
    return try MultipartBody(try #require(received.body), contentType: type ?? "").parts
  }

  /// Reads the store some days from now.
  ///
  /// - Returns: The number of forms.
  func read(_ directory: URL, after days: Double) async throws -> Int {
    let system = FileSystem()
    let storage = FileOutboxStorage(directory: directory, system: system) { Date() + days * 86_400 }
    _ = try await storage.contents(of: .shared)
    return forms(in: directory).count
  }
}
