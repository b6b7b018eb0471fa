import Foundation
import HTTPCaching
import HTTPTypes
import ReactorCore
import ReactorLoopback
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorOutbox

/// Uploads the file at a path.
private struct AddPhoto: Mutation {
  var path: String

  func request(_ known: Known) throws -> Resource {
    Resource("photos", form: [.file("photo", at: URL(filePath: path))])
  }

  func draft(_ drafts: inout Drafts) {}
}

/// A storage that copies a form once a gate is open.
private struct HeldForms: FormStorage {
  let base: FileOutboxStorage
  let gate = Gate()
  /// Called after each commit, before its caller goes on.
  let committed = Shared<(@Sendable () -> Void)?>(nil)

  func keep(_ form: MultipartForm, for id: UUID, in scope: Scope) async throws -> KeptForm {
    let kept = try await base.keep(form, for: id, in: scope)
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
}

@Suite("An upload through the outbox", .timeLimit(.minutes(5)))
struct UploadTests {
  private static let target = "https://other.example.com/photos"

  /// Calls `body` with the outbox's directory and a file to upload.
  private func withFile(_ body: (URL, URL) async throws -> Void) async throws {
    try await withTemporaryDirectory { parent in
      try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
      let file = parent.appending(path: "sunset.jpg")
      try Data(repeating: 7, count: 300_000).write(to: file)
      try await body(parent.appending(path: "outbox"), file)
    }
  }

  private func request(_ file: URL) throws -> OutboxRequest {
    OutboxRequest(
      url: try #require(URL(string: Self.target)), form: [.field("title", "Sunset"), .file("photo", at: file)])
  }

  private func forms(in directory: URL) -> [URL] { files(in: directory).filter { $0.path().contains(".form-") } }

  private func parts(_ received: ScriptedTransport.Received) throws -> [MultipartBody.Part] {
    let type = received.request.headerFields[.contentType]
    return try MultipartBody(try #require(received.body), contentType: type ?? "").parts
  }

  @Test func `its form is copied before the submission returns, and sent by the next process`() async throws {
    try await withFile { directory, file in
      let writer = Writer(storage: FileOutboxStorage(directory: directory)) { $0.sendsByItself = false }
      try await writer.layer.submit(try request(file))
      try FileManager.default.removeItem(at: file)
      #expect(try forms(in: directory).map { try attribute(.posixPermissions, of: $0) as? Int } == [0o600])
      let next = Writer(storage: FileOutboxStorage(directory: directory), on: writer.bench)
      next.transport.answer("/photos", with: accepted)
      await next.wait()
      let parts = try parts(try #require(next.transport.requests.first))
      #expect(parts.map(\.name) == ["title", "photo"] && parts.map(\.fileName) == [nil, "sunset.jpg"])
      #expect(parts.map(\.bytes) == [Data("Sunset".utf8), Data(repeating: 7, count: 300_000)])
      #expect(forms(in: directory).isEmpty)
      try await next.end()
    }
  }

  @Test(arguments: [true, false]) func `each attempt has the same bytes and the same key`(inFiles: Bool) async throws {
    try await withFile { directory, file in
      let storage: any OutboxStorage = inFiles ? FileOutboxStorage(directory: directory) : MemoryOutboxStorage()
      let writer = Writer(storage: storage)
      writer.transport.answer("/photos", with: .response(.serviceUnavailable), accepted)
      let submission = try await writer.layer.submit(try request(file))
      try FileManager.default.removeItem(at: file)
      // The backoff, and the renewal of the lease.
      let time = Task { [clock = writer.clock] in
        while true {
          try await clock.waitForSleepers()
          clock.advance(by: .seconds(1))
        }
      }
      _ = try await submission.answer()
      time.cancel()
      let requests = writer.transport.requests
      #expect(requests.count == 2 && requests[0].body == requests[1].body && writer.keys[0] == writer.keys[1])
      #expect(try parts(requests[1]).map(\.bytes.count) == [6, 300_000])
      #expect(forms(in: directory).isEmpty)
      try await writer.end()
    }
  }

  @Test func `a refused upload can be sent again, although its file is gone`() async throws {
    try await withFile { directory, file in
      let writer = Writer(storage: FileOutboxStorage(directory: directory))
      writer.transport.answer("/photos", with: .response(.unprocessableContent), accepted)
      let submission = try await writer.layer.submit(try request(file))
      try FileManager.default.removeItem(at: file)
      await writer.wait(for: "refused")
      #expect(await writer.outbox.retry(submission.id))
      await writer.wait()
      let requests = writer.transport.requests
      #expect(requests.count == 2 && requests[0].body == requests[1].body && writer.keys[0] != writer.keys[1])
      #expect(forms(in: directory).isEmpty)
    }
  }

  @Test func `an upload that is copied while its user signs out is not added, and leaves no copy`() async throws {
    try await withFile { directory, file in
      let storage = HeldForms(base: FileOutboxStorage(directory: directory))
      let writer = Writer(storage: storage)
      let upload = try request(file)
      async let submission = TestSupport.error { try await writer.layer.submit(upload) }
      try await storage.gate.waitForArrival()
      #expect(forms(in: directory).count == 1)
      try await writer.layer.removeAll()
      storage.gate.open()
      #expect(await submission?.isCancelled == true)
      #expect(writer.outbox.entries.isEmpty && writer.transport.requests.isEmpty)
      #expect(forms(in: directory).isEmpty)
      try await writer.end()
    }
  }

  @Test func `the copies of entries that cannot be read stay, and later ones without an entry go`() async throws {
    try await withFile { directory, file in
      let writer = Writer(storage: FileOutboxStorage(directory: directory)) { $0.sendsByItself = false }
      try await writer.layer.submit(try request(file))
      let journal = try #require(files(in: directory).first { $0.path().hasSuffix(".journal") })
      var bytes = try Data(contentsOf: journal)
      bytes[bytes.count / 2] ^= 0xff
      try bytes.write(to: journal)
      let contents = try await FileOutboxStorage(directory: directory).contents(of: .shared)
      #expect(contents.entries.isEmpty && !contents.setAside.isEmpty)
      let form = try #require(forms(in: directory).first)
      _ = try await FileOutboxStorage(directory: directory).keep([.file("photo", at: file)], for: UUID(), in: .shared)
      let later = try #require(forms(in: directory).first { $0 != form })
      try FileManager.default.setAttributes([.modificationDate: Date() + 60], ofItemAtPath: later.path())
      #expect(try await read(directory, after: 0) == 2)
      #expect(try await read(directory, after: 8) == 1)
      #expect(forms(in: directory) == [form])
    }
  }

  /// Reads the store some days from now.
  ///
  /// - Returns: The number of forms.
  private func read(_ directory: URL, after days: Double) async throws -> Int {
    let system = FileSystem()
    let storage = FileOutboxStorage(directory: directory, system: system) { Date() + days * 86_400 }
    _ = try await storage.contents(of: .shared)
    return forms(in: directory).count
  }

  @Test func `its copy goes with its entry: discarded, withdrawn or signed out`() async throws {
    try await withFile { directory, file in
      let writer = Writer(storage: FileOutboxStorage(directory: directory))
      writer.transport.answer("/photos", with: .response(.unprocessableContent))
      let refused = try await writer.layer.submit(try request(file))
      await writer.wait(for: "refused")
      #expect(forms(in: directory).count == 1)
      #expect(await writer.outbox.discard(refused.id))
      #expect(forms(in: directory).isEmpty)
      writer.outbox.pause()
      let waiting = try await writer.layer.submit(try request(file))
      #expect(forms(in: directory).count == 1)
      #expect(await writer.outbox.withdraw(waiting.id))
      #expect(forms(in: directory).isEmpty)
      try await writer.layer.submit(try request(file))
      let other = Writer(storage: FileOutboxStorage(directory: directory), scope: "other") { $0.sendsByItself = false }
      try await other.layer.submit(try request(file))
      #expect(forms(in: directory).count == 2)
      try await writer.layer.signOut()
      #expect(forms(in: directory).count == 1)
      try await other.layer.signOut()
      #expect(forms(in: directory).isEmpty)
    }
  }

  @Test func `a removal right behind the entry removes its copy too`() async throws {
    try await withFile { directory, file in
      let storage = HeldForms(base: FileOutboxStorage(directory: directory))
      storage.gate.open()
      let writer = Writer(storage: storage) { $0.sendsByItself = false }
      try await writer.outbox.reload()
      storage.committed.change { committed in
        // The queue performs the removal before the submission goes on.
        committed = { [outbox = writer.outbox] in
          storage.committed.change { $0 = nil }
          _ = outbox.commits.enqueueRemoval(keeping: { [] }) {}
        }
      }
      try await writer.layer.submit(try request(file))
      #expect(forms(in: directory).isEmpty)
      #expect(try await storage.contents(of: .shared).entries.isEmpty)
    }
  }

  @Test func `a copy that was never added is removed after seven days without an entry`() async throws {
    try await withFile { directory, file in
      let storage = FileOutboxStorage(directory: directory)
      _ = try await storage.commit([.identify("a", Data("1".utf8))], in: .shared)
      var kept: [KeptForm] = [try await storage.keep([.file("photo", at: file)], for: UUID(), in: .shared)]
      // The process is about to add its entry.
      #expect(try await read(directory, after: 0) == 1)
      #expect(try await read(directory, after: 8) == 1)
      try await storage.removeAll(in: nil)
      #expect(forms(in: directory).count == 1)
      withExtendedLifetime(kept) {}
      kept = []
      #expect(try await read(directory, after: 0) == 1)
      #expect(try await read(directory, after: 6.9) == 1)
      #expect(try await read(directory, after: 7.1) == 0)
    }
  }

  @Test func `a copy that was marked in a future that never came is kept for seven days from now`() async throws {
    try await withFile { directory, file in
      let storage = FileOutboxStorage(directory: directory)
      _ = try await storage.commit([.identify("a", Data("1".utf8))], in: .shared)
      _ = try await storage.keep([.file("photo", at: file)], for: UUID(), in: .shared)
      #expect(try await read(directory, after: 1_000) == 1)
      #expect(try await read(directory, after: 0) == 1)
      #expect(try await read(directory, after: 6.9) == 1)
      #expect(try await read(directory, after: 7.1) == 0)
    }
  }

  @Test func `a copy that its process did not finish is removed at the next start`() async throws {
    try await withFile { directory, file in
      let storage = FileOutboxStorage(directory: directory)
      _ = try await storage.commit([.identify("a", Data("1".utf8))], in: .shared)
      let name = FormDirectory.Name(UUID(), in: .shared, .new).text
      try Data(count: 10).write(to: directory.appending(path: name))
      #expect(try await read(directory, after: 0) == 0)
    }
  }

  @Test func `a copy that another process works on stays`() async throws {
    try await withFile { directory, file in
      let (reached, goes) = (Gate(), Latch())
      let system = FileSystem { operation, path in
        guard operation == .synchronize, path.contains(".form-") else { return nil }
        reached.open()
        goes.block()
        return nil
      }
      let storage = FileOutboxStorage(directory: directory, system: system)
      _ = try await storage.commit([.identify("a", Data("1".utf8))], in: .shared)
      async let kept = storage.keep([.file("photo", at: file)], for: UUID(), in: .shared)
      try await reached.wait()
      #expect(try await read(directory, after: 8) == 1)
      try await FileOutboxStorage(directory: directory).removeAll(in: nil)
      #expect(forms(in: directory).count == 1)
      goes.open()
      _ = try await kept
    }
  }

  @Test func `it is sent although the store was removed, and another process has read the new one`() async throws {
    try await withFile { directory, file in
      let writer = Writer(storage: FileOutboxStorage(directory: directory))
      try await writer.outbox.reload()
      writer.bench.reachability.set(false)
      try await writer.layer.submit(try request(file))
      for other in files(in: directory) where !other.path().contains(".form-") {
        try FileManager.default.removeItem(at: other)
      }
      // The new store is made by a commit.
      _ = try await FileOutboxStorage(directory: directory).commit([.identify("a", Data("1".utf8))], in: .shared)
      #expect(try await read(directory, after: 0) == 1)
      try await writer.outbox.reload()
      #expect(try await read(directory, after: 8) == 1)
      writer.transport.answer("/photos", with: accepted)
      writer.bench.reachability.set(true)
      await writer.wait()
      #expect(try parts(try #require(writer.transport.requests.first)).map(\.bytes.count) == [6, 300_000])
      #expect(forms(in: directory).isEmpty)
      try await writer.end()
    }
  }

  @Test func `it is sent by a process that has not read the new store yet`() async throws {
    try await withFile { directory, file in
      let storage = FileOutboxStorage(directory: directory)
      _ = try await storage.commit([.identify("a", Data("1".utf8))], in: .shared)
      let id = UUID()
      let type = try await storage.keep([.file("photo", at: file)], for: id, in: .shared).contentType
      #expect(try await read(directory, after: 0) == 1)
      #expect(forms(in: directory).allSatisfy { $0.path().contains(".left-") })
      let form = try await storage.form(of: id, in: .shared, contentType: type)
      #expect(try MultipartBody(form.body, contentType: type).parts.map(\.bytes.count) == [300_000])
    }
  }

  @Test func `nothing is saved, and no copy is left, if a file is missing`() async throws {
    try await withFile { directory, file in
      let writer = Writer(storage: FileOutboxStorage(directory: directory))
      let missing = try request(file.appendingPathExtension("gone"))
      let error = await TestSupport.error { try await writer.layer.submit(missing) }
      guard case .network(let cause as MultipartForm.FileError)? = error else {
        return #expect(Bool(false), "\(String(describing: error))")
      }
      #expect(cause.reason == .missing && cause.part == "photo")
      #expect(writer.outbox.entries.isEmpty && forms(in: directory).isEmpty)
      try await writer.end()
    }
  }

  @Test(arguments: [FilePersistence.Failure.Operation.lock, .inspect])
  func `no file is left if it cannot be locked`(operation: FilePersistence.Failure.Operation) async throws {
    try await withFile { directory, file in
      let system = FileSystem { call, path in
        call == operation && path.contains(".form-") ? .error(EIO) : nil
      }
      let writer = Writer(storage: FileOutboxStorage(directory: directory, system: system))
      let request = try request(file)
      let error = await TestSupport.error { try await writer.layer.submit(request) }
      guard case .persistence(_ as FilePersistence.Failure)? = error else {
        return #expect(Bool(false), "\(String(describing: error))")
      }
      #expect(writer.outbox.entries.isEmpty && forms(in: directory).isEmpty)
    }
  }

  @Test(arguments: [FilePersistence.Failure.Operation.write, .synchronize])
  func `no copy is left if it, or its entry, cannot be saved`(operation: FilePersistence.Failure.Operation) async throws
  {
    for name in [".form-", ".journal"] {
      try await withFile { directory, file in
        let system = FileSystem { call, path in call == operation && path.contains(name) ? .error(ENOSPC) : nil }
        let writer = Writer(storage: FileOutboxStorage(directory: directory, system: system))
        let request = try request(file)
        let error = await TestSupport.error { try await writer.layer.submit(request) }
        switch error {
        case .network(let error as MultipartForm.FileError)?: #expect(name == ".form-" && error.part == nil)
        case .persistence(_ as FilePersistence.Failure)?: #expect(name == ".journal")
        default: Issue.record("\(String(describing: error))")
        }
        #expect(writer.outbox.entries.isEmpty && forms(in: directory).isEmpty)
      }
    }
  }

  @Test func `a storage that takes no forms refuses it, and says which does`() async throws {
    try await withFile { _, file in
      let writer = Writer(storage: MemoryStore())
      let request = try request(file)
      let error = await TestSupport.error { try await writer.layer.submit(request) }
      guard case .persistence(OutboxStorageError.takesNoForms)? = error else {
        return #expect(Bool(false), "\(String(describing: error))")
      }
      #expect(error.map { "\($0)".contains("FileOutboxStorage") } == true && writer.outbox.entries.isEmpty)
      try await writer.end()
    }
  }

  @Test func `an entry whose copied form was deleted is refused, and says what to do`() async throws {
    try await withFile { directory, file in
      let writer = Writer(storage: FileOutboxStorage(directory: directory))
      writer.outbox.pause()
      let submission = try await writer.layer.submit(try request(file))
      for form in forms(in: directory) { try FileManager.default.removeItem(at: form) }
      writer.outbox.resume()
      let error = await TestSupport.error { try await submission.answer() }
      #expect(error.map { "\($0)".contains("submit the form again") } == true, "\(String(describing: error))")
      #expect(writer.states == ["refused"] && writer.transport.requests.isEmpty)
      await writer.outbox.stop()
    }
  }

  @Test func `a mutation with a form is refused, and the error names OutboxRequest`() async throws {
    try await withFile { _, file in
      let writer = Writer { $0.mutations = [AddPhoto.self] }
      let submission = try await writer.layer.submit(AddPhoto(path: file.path()))
      let error = await TestSupport.error { try await submission.answer() }
      #expect(error?.isInvalidResource == true && error.map { "\($0)".contains("OutboxRequest") } == true)
      #expect(writer.transport.requests.isEmpty)
      await writer.outbox.stop()
    }
  }

  @Test func `a secret among its header fields is found before anything is copied`() async throws {
    try await withFile { directory, file in
      let writer = Writer(storage: FileOutboxStorage(directory: directory))
      var missing = try request(file.appendingPathExtension("gone"))
      missing.headerFields[.authorization] = "Bearer s3cret"
      let secret = missing
      let error = try #require(await TestSupport.error { try await writer.layer.submit(secret) })
      #expect(error.isInvalidResource && "\(error)".contains("Authorization"), "\(error)")
      #expect(!files(in: directory).contains { $0.path().contains(".form-") } && writer.outbox.entries.isEmpty)
    }
  }

  @Test func `a key that another upload has is found before anything is copied`() async throws {
    try await withFile { directory, file in
      let writer = Writer(storage: FileOutboxStorage(directory: directory)) { $0.sendsByItself = false }
      var (first, second) = (try request(file), try request(file.appendingPathExtension("gone")))
      (first.idempotencyKey, second.idempotencyKey) = ("k1", "k1")
      try await writer.layer.submit(first)
      let again = second
      #expect(await TestSupport.error { try await writer.layer.submit(again) }?.isInvalidResource == true)
    }
  }

  @Test func `a field with a temporary id is sent with the server's, or refused until that is known`() async throws {
    try await withFile { directory, file in
      let writer = Writer(storage: FileOutboxStorage(directory: directory))
      writer.bench.reachability.set(false)
      let album = AddItem(name: "Album")
      let submission = try await writer.layer.submit(album)
      var upload = try request(file)
      upload.form?.parts.append(.field("album", album.id.string))
      let request = upload
      let error = try #require(await TestSupport.error { try await writer.layer.submit(request) })
      #expect(error.isInvalidResource && "\(error)".contains("part album"), "\(error)")
      #expect(writer.outbox.entries.count == 1 && forms(in: directory).isEmpty)
      writer.transport.answer("/v1/items", with: .json(#"{"id": 7, "name": "Album"}"#))
      writer.transport.answer("/photos", with: accepted)
      writer.bench.reachability.set(true)
      _ = try await submission.answer()
      try await writer.layer.submit(request)
      await writer.wait()
      let sent = try #require(writer.transport.requests.last)
      #expect(try parts(sent).last?.bytes == Data("7".utf8))
    }
  }

  @Test func `in memory, a removal leaves the form of an entry that is about to be added`() async throws {
    let storage = MemoryOutboxStorage()
    var kept: [KeptForm] = []
    let ids = [UUID(), UUID(), UUID()]
    for id in ids { kept.append(try await storage.keep([.field("a", "b")], for: id, in: .shared)) }
    func isThere(_ id: UUID) async -> Bool {
      (try? await storage.form(of: id, in: .shared, contentType: "")) != nil
    }
    try await storage.removeAll(in: nil)
    try await storage.removeAll(in: .shared)
    try await storage.removeAll(in: .shared, keeping: [])
    for id in ids { #expect(await isThere(id)) }
    kept.removeLast().discard()
    #expect(await !isThere(ids[2]))
    // Both entries are added.
    kept = []
    try await storage.removeAll(in: "other")
    try await storage.removeAll(in: .shared, keeping: [ids[0]])
    #expect(await isThere(ids[0]))
    #expect(await !isThere(ids[1]))
    try await storage.removeAll(in: nil)
    #expect(await !isThere(ids[0]))
  }

  @Test func `its entry shows its progress while it is sent, and no other entry does`() async throws {
    let isSeen = Latch()
    let server = try MockServer.withoutHTTP { connection in
      _ = connection.head()
      // The connection takes a few megabytes until then.
      isSeen.block()
      connection.drain()
    }
    defer { server.stop() }
    try await withFile { directory, file in
      try Data(count: 20 << 20).write(to: file)
      let outbox = OutboxConfiguration(storage: FileOutboxStorage(directory: directory), mutations: [])
      let layer = ModelLayer(baseURL: server.url, reachability: .always, extensions: [.outbox(outbox)])
      let url = server.url.appending(path: "photos")
      try await layer.submit(OutboxRequest(url: url, form: [.file("photo", at: file)]))
      try await layer.submit(OutboxRequest(url: url, body: Data(count: 10)))
      var (seen, states): ([TransferProgress], Int) = ([], 0)
      for await entries in layer.outbox.states {
        states += 1
        #expect(entries.dropFirst().allSatisfy { $0.progress == nil })
        guard let progress = entries.first?.progress else { continue }
        if seen.last != progress { seen.append(progress) }
        if progress.sent > 0 { isSeen.open() }
        if progress.sent == progress.toSend { break }
      }
      #expect(seen.allSatisfy { $0.toSend > 20 << 20 } && seen.contains { $0.sent > 0 && $0.sent < $0.toSend })
      #expect(states < 130 && zip(seen, seen.dropFirst()).allSatisfy { $0.sent <= $1.sent })
      await layer.outbox.stop()
      #expect(layer.outbox.entries.allSatisfy { $0.progress == nil })
    }
  }

  @Test func `two forms under one key are two requests`() async throws {
    try await withFile { directory, file in
      let writer = Writer(storage: FileOutboxStorage(directory: directory)) { $0.sendsByItself = false }
      var request = try request(file)
      request.idempotencyKey = "k1"
      let keyed = request
      try await writer.layer.submit(keyed)
      #expect(await TestSupport.error { try await writer.layer.submit(keyed) }?.isInvalidResource == true)
      #expect(forms(in: directory).count == 1)
    }
  }
}
