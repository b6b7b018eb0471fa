import Foundation
import HTTPCaching
import ReactorCore
import ReactorLoopback
import ReactorTesting
import Synchronization
import TestSupport
import Testing

@testable import ReactorOutbox

@Suite("Uploads when everything is removed", .timeLimit(.minutes(5)))
struct UploadRemovalTests: Uploading {
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
          _ = outbox.commits.enqueueRemoval {}
        }
      }
      try await writer.layer.submit(try request(file))
      #expect(forms(in: directory).isEmpty)
      #expect(try await storage.contents(of: .shared).entries.isEmpty)
    }
  }

  @Test func `a removal by another process ends a copy that is under way`() async throws {
    try await withFile { directory, file in
      let (reached, goes) = (Gate(), Latch())
      let system = FileSystem { operation, path in
        guard operation == .synchronize, path.contains(".form-") else { return nil }
        reached.open()
        goes.block()
        return nil
      }
      let writer = Writer(storage: FileOutboxStorage(directory: directory, system: system))
      let upload = try request(file)
      async let submission = TestSupport.error { try await writer.layer.submit(upload) }
      try await reached.wait()
      #expect(forms(in: directory).count == 1)
      try await FileOutboxStorage(directory: directory).removeAll(in: .shared)
      #expect(forms(in: directory).isEmpty)
      goes.open()
      #expect(await submission?.isCancelled == true)
      #expect(forms(in: directory).isEmpty && writer.outbox.entries.isEmpty)
      try await writer.end()
    }
  }

  @Test func `a removal by another process takes a copy whose entry is about to be added, and the entry`() async throws
  {
    try await withFile { directory, file in
      let storage = HeldForms(base: FileOutboxStorage(directory: directory))
      let writer = Writer(storage: storage)
      let upload = try request(file)
      async let submission = TestSupport.error { try await writer.layer.submit(upload) }
      try await storage.gate.waitForArrival()
      try await FileOutboxStorage(directory: directory).removeAll(in: nil)
      #expect(forms(in: directory).isEmpty)
      storage.gate.open()
      #expect(await submission?.isCancelled == true)
      #expect(writer.outbox.entries.isEmpty && writer.transport.requests.isEmpty)
      #expect(try await storage.contents(of: .shared).entries.isEmpty)
      try await writer.end()
    }
  }

  @Test(arguments: [true, false])
  func `an upload that is submitted while a removal waits is copied, added and sent`(inFiles: Bool) async throws {
    try await withFile { directory, file in
      let base: any FormStorage = inFiles ? FileOutboxStorage(directory: directory) : MemoryOutboxStorage()
      let storage = HeldForms(base: base)
      storage.removals.close()
      let writer = Writer(storage: storage)
      writer.transport.answer("/photos", with: accepted)
      let upload = try request(file)
      async let removal: Void = writer.layer.removeAll()
      try await storage.removals.waitForArrival()
      async let submission = writer.layer.submit(upload)
      // The copy is made, and its entry waits behind the removal.
      try await storage.gate.waitForArrival()
      storage.gate.open()
      storage.removals.open()
      try await removal
      _ = try await submission.answer()
      #expect(try parts(try #require(writer.transport.requests.first)).map(\.bytes.count) == [6, 300_000])
      #expect(forms(in: directory).isEmpty)
      try await writer.end()
    }
  }

  @Test func `a copy that is complete while a removal lists the files is removed too`() async throws {
    try await withFile { directory, file in
      let storage = FileOutboxStorage(directory: directory)
      _ = try await storage.commit([.identify("a", Data("1".utf8))], in: .shared)
      let name = FormDirectory.Name(UUID(), in: .shared, .new(1))
      let (new, kept) = (directory.appending(path: name.text), directory.appending(path: name.with(.kept).text))
      try Data(count: 10).write(to: new)
      let system = FileSystem { operation, path in
        // Between the list and the removal, another process gives it its name.
        if operation == .remove, path == new.path() { try? FileManager.default.moveItem(at: new, to: kept) }
        return nil
      }
      try await FileOutboxStorage(directory: directory, system: system).removeAll(in: .shared)
      #expect(forms(in: directory).isEmpty)
    }
  }

  @Test func `in memory, a removal takes the form of an entry that is about to be added, and the entry`() async throws {
    let storage = MemoryOutboxStorage()
    let ids = [UUID(), UUID(), UUID()]
    func isThere(_ id: UUID) async -> Bool {
      (try? await storage.form(of: id, in: .shared, contentType: "")) != nil
    }
    func add(_ id: UUID) async throws {
      _ = try await storage.commit([.add(StoredEntry(id: id, lane: "main", bytes: Data()))], in: .shared)
    }
    var kept: [KeptForm] = []
    for id in ids { kept.append(try await storage.keep([.field("a", "b")], for: id, in: .shared)) }
    try await storage.removeAll(in: "other")
    try await storage.removeAll(in: .shared, keeping: [ids[0]]) { [ids[1]] }
    #expect(await isThere(ids[0]))
    #expect(await isThere(ids[1]))
    #expect(await !isThere(ids[2]))
    await #expect(throws: FormStorageError.removed) { try await add(ids[2]) }
    try await add(ids[0])
    kept.remove(at: 1).discard()
    #expect(await !isThere(ids[1]))
    try await storage.removeAll(in: nil)
    #expect(await !isThere(ids[0]))
    // The submission has given up.
    kept = []
    try await add(ids[2])
    await #expect(throws: FormStorageError.removed) {
      _ = try await storage.keep([.field("a", "b")], for: ids[1], in: .shared) { true }
    }
    #expect(await !isThere(ids[1]))
  }

  @Test(arguments: [true, false])
  func `no copy from before a removal is left, wherever it stood then, and wherever its process ends`(
    isOwn: Bool
  ) async throws {
    let whole = StoppedCopy(at: .max, endingAfter: 0)
    whole.goes.open()
    try await removeAll(during: whole, byItsProcess: isOwn)
    #expect(whole.calls > 8)
    for call in 1...whole.calls {
      // A copy that fails makes two calls more.
      for later in 0...whole.calls - call + 2 {
        try await removeAll(during: StoppedCopy(at: call, endingAfter: later), byItsProcess: isOwn)
      }
    }
  }

  /// Removes everything while a copy stands still, and lets the copy go on.
  private func removeAll(during copy: StoppedCopy, byItsProcess isOwn: Bool) async throws {
    try await withFile { directory, file in
      try Data("few".utf8).write(to: file)
      let system = FileSystem { _, _ in copy.fault() }
      let storage = HeldForms(base: FileOutboxStorage(directory: directory, system: system))
      storage.gate.open()
      storage.copying.change { $0 = copy.setCopying }
      let writer = Writer(storage: storage) { $0.sendsByItself = false }
      try await writer.outbox.reload()
      let upload = try request(file)
      async let submission = TestSupport.error { try await writer.layer.submit(upload) }
      guard !copy.goes.isOpen else { return _ = await submission }
      try await copy.reached.wait()
      // Of another process, one that begins later stays.
      let isEarlier = isOwn || !forms(in: directory).isEmpty
      if isOwn {
        try await writer.layer.removeAll()
      } else {
        try await FileOutboxStorage(directory: directory).removeAll(in: .shared)
      }
      #expect(forms(in: directory).isEmpty, "\(copy)")
      copy.goes.open()
      let error = await submission
      guard isEarlier else { return }
      #expect(error != nil && writer.outbox.entries.isEmpty, "\(copy)")
      // The next process, whoever uses it.
      _ = try await FileOutboxStorage(directory: directory).contents(of: "other")
      #expect(forms(in: directory).isEmpty, "\(copy)")
    }
  }
}

/// A process whose copy stops at one of its system calls, and which ends some calls later.
private final class StoppedCopy: Sendable, CustomStringConvertible {
  private struct State {
    var isCopying = false
    var calls = 0
    var isDead = false
  }

  private let state = Mutex(State())
  private let stop: Int
  private let end: Int
  let reached = Gate()
  let goes = Latch()

  /// - Parameters:
  ///   - stop: The call at which the copy stops until ``goes`` is open, or the greatest number.
  ///   - calls: The calls that the process then still makes.
  init(at stop: Int, endingAfter calls: Int) {
    self.stop = stop
    end = stop == .max ? .max : stop + calls
  }

  var description: String { "stopped at call \(stop), and dead after \(end)" }

  /// The number of calls that the copy has made.
  var calls: Int { state.withLock(\.calls) }

  @Sendable func setCopying(_ isCopying: Bool) { state.withLock { $0.isCopying = isCopying } }

  /// Returns the fault of the next call.
  func fault() -> FileSystem.Fault? {
    let (isDead, stops) = state.withLock { [isOpen = goes.isOpen] state -> (Bool, Bool) in
      // While the copy stands still, only the removal makes calls.
      guard state.isCopying, state.calls != stop || isOpen else { return (state.isDead, false) }
      state.calls += 1
      state.isDead = state.isDead || state.calls > end
      return (state.isDead, state.calls == stop)
    }
    if stops {
      reached.open()
      goes.block()
    }
    return isDead ? .error(EIO) : nil
  }
}
