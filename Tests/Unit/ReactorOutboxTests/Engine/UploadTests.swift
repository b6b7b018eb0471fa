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

@Suite("An upload through the outbox", .timeLimit(.minutes(5)))
struct UploadTests: Uploading {
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

  @Test func `a field with a temporary id that will never arrive is refused, and the error does not say to wait`()
    async throws
  {
    try await withFile { directory, file in
      let writer = Writer(storage: FileOutboxStorage(directory: directory))
      let album = AddItem(name: "Album")
      // Accepted, without an id.
      writer.transport.answer("/v1/items", with: accepted)
      _ = await TestSupport.error { try await writer.layer.submit(album).answer() }
      await writer.wait()
      var upload = try request(file)
      upload.form?.parts.append(.field("album", album.id.string))
      let request = upload
      let error = try #require(await TestSupport.error { try await writer.layer.submit(request) })
      #expect(error.isInvalidResource && "\(error)".contains("ended without one"), "\(error)")
      #expect(!"\(error)".contains("identity(of:)") && writer.outbox.entries.isEmpty)
      #expect(forms(in: directory).isEmpty)
    }
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
