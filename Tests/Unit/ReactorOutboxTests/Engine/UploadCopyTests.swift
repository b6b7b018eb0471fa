import Foundation
import HTTPCaching
import ReactorCore
import ReactorLoopback
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorOutbox

@Suite("The copy of an uploaded form", .timeLimit(.minutes(5)))
struct UploadCopyTests: Uploading {
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

  @Test func `a copy that was never added is removed after seven days without an entry`() async throws {
    try await withFile { directory, file in
      let storage = FileOutboxStorage(directory: directory)
      _ = try await storage.commit([.identify("a", Data("1".utf8))], in: .shared)
      var kept: [KeptForm] = [try await storage.keep([.file("photo", at: file)], for: UUID(), in: .shared)]
      // The process is about to add its entry.
      #expect(try await read(directory, after: 0) == 1)
      #expect(try await read(directory, after: 8) == 1)
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

  @Test(arguments: [Scope.shared, "other"])
  func `a copy that its process did not finish is removed at the next start of any scope`(scope: Scope) async throws {
    try await withFile { directory, file in
      let storage = FileOutboxStorage(directory: directory)
      _ = try await storage.commit([.identify("a", Data("1".utf8))], in: .shared)
      let name = FormDirectory.Name(UUID(), in: scope, .new(1)).text
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
      goes.open()
      _ = try await kept
    }
  }

  @Test func `a copy whose file another process takes for one that was left behind gets another name`() async throws {
    try await withFile { directory, file in
      let first = Shared<String?>(nil)
      let system = FileSystem { operation, path in
        guard path.contains(".form-") else { return nil }
        if operation == .lock, first.value == nil {
          first.change { $0 = path }
          // The other process has locked it, to remove it.
          return .error(EWOULDBLOCK)
        }
        if operation == .write, let path = first.value { try? FileManager.default.removeItem(atPath: path) }
        return nil
      }
      let writer = Writer(storage: FileOutboxStorage(directory: directory, system: system))
      writer.transport.answer("/photos", with: accepted)
      _ = try await writer.layer.submit(try request(file)).answer()
      #expect(try parts(try #require(writer.transport.requests.first)).map(\.bytes.count) == [6, 300_000])
      #expect(first.value != nil && forms(in: directory).isEmpty)
      try await writer.end()
    }
  }

  @Test(arguments: [".new", ".new-2", ".left-17", ""])
  func `the name of a copy is read as it is written`(suffix: String) throws {
    let text = FormDirectory.Name(UUID(), in: .shared).text + suffix
    #expect(try #require(FormDirectory.Name(text)).text == text)
    for other in ["-", ".old", ".new-", ".new-x", ".left-", ".new-2-3"] {
      #expect(FormDirectory.Name(text + other) == nil)
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
}
