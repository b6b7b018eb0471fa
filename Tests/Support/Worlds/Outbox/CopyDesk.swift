import Foundation
import HTTPCaching
import ReactorConformance
import ReactorCore
import ReactorOutbox
import ReactorTesting
import Synchronization

/// The place at which one process copies its forms: slowly at times, and with the trouble that each
/// has.
final class CopyDesk: Sendable {
  let process: SimulatedProcess
  private let book: OutboxReference
  private let traits: OutboxTraits
  private let draws: SeededDraws
  private let crash: @Sendable () -> Void
  /// The troubles of the forms that are being copied.
  private let troubles = Mutex<[UUID: Upload.Trouble]>([:])
  /// The latest call on a journal has failed. What the store does about that succeeds.
  private let hasFailed = Shared(false)

  init(
    _ book: OutboxReference, _ process: SimulatedProcess, _ traits: OutboxTraits, _ draws: SeededDraws,
    crash: @escaping @Sendable () -> Void
  ) {
    self.process = process
    self.book = book
    self.traits = traits
    self.draws = draws
    self.crash = crash
  }

  /// Copies a form. The process may end before anybody knows of the copy.
  func copy(_ id: UUID, _ body: () async throws -> KeptForm) async throws -> KeptForm {
    await takeTime()
    let trouble = book.record(id).flatMap { book.upload($0.errand.mark)?.trouble }
    troubles.withLock { $0[id] = trouble }
    defer { troubles.withLock { $0[id] = nil } }
    let kept = try await body()
    await takeTime()
    if mayCrash, draws.chance(0.1) { crash() }
    guard !process.hasCrashed else { throw FaultyPersistence.Crashed() }
    return kept
  }

  private var mayCrash: Bool { traits.crashes && !book.server.isWell }

  private func takeTime() async {
    guard draws.chance(0.3) else { return }
    try? await book.world.clock.sleep(for: draws.duration(upTo: .seconds(3)))
  }

  /// Returns the fault of a system call.
  func fault(_ call: FilePersistence.Failure.Operation, _ path: String) -> FileSystem.Fault? {
    guard !process.hasCrashed else { return .error(EIO) }
    if path.hasSuffix(".journal") { return journalFault(call) }
    guard let id = OutboxFiles.id(ofFormAt: path), let mark = book.record(id)?.errand.mark else { return nil }
    if call == .remove, mark % 9 == 0, !book.server.isWell {
      book.change(id) { ($0.mayLeaveCopy, $0.isStuck) = (true, true) }
      return .error(EIO)
    }
    let kind = troubles.withLock { troubles -> Upload.Trouble.Kind? in
      guard var trouble = troubles[id] else { return nil }
      trouble.calls -= 1
      troubles[id] = trouble.calls < 0 ? nil : trouble
      return trouble.calls < 0 ? trouble.kind : nil
    }
    switch kind {
    case nil: return nil
    case .full:
      // A file that cannot be removed stays up to the next reading, and an empty one that cannot be
      // locked.
      if [.lock, .inspect, .remove].contains(call) { book.change(id) { $0.mayLeaveCopy = true } }
      if call == .remove { book.change(id) { $0.isStuck = true } }
      return .error(ENOSPC)
    case .crash:
      guard mayCrash else { return nil }
      crash()
      return .error(EIO)
    case let kind?:
      book.change(mark, kind)
      return nil
    }
  }
}

extension CopyDesk {
  /// Returns the fault of a call on a journal: the disk is full, in the middle of a commit or when
  /// it is synchronized.
  private func journalFault(_ call: FilePersistence.Failure.Operation) -> FileSystem.Fault? {
    guard call == .write || call == .synchronize, traits.mayFailToSave(book.world) else { return nil }
    guard !hasFailed.value else {
      // Cut off again.
      if call == .synchronize { hasFailed.change { $0 = false } }
      return nil
    }
    guard draws.chance(0.03) else { return nil }
    hasFailed.change { $0 = true }
    return .error(ENOSPC)
  }
}

/// The book of uploads.
extension OutboxReference {
  /// Somebody changes the file of a form, or removes it.
  func change(_ mark: Int, _ kind: Upload.Trouble.Kind) {
    do { try changeUpload(mark) { try $0?.change(kind) } } catch { world.check(false, "the file of \(mark): \(error)") }
  }

  func contents(of owner: String) async -> OutboxContents {
    if let files { return await files.contents(of: Scope(owner)) }
    guard traits.storage == .memory else { return await world.disk.outboxContents(of: Scope(owner)) }
    var contents = OutboxContents()
    for memory in memories {
      guard let held = try? await memory.contents(of: Scope(owner)) else { continue }
      contents.entries += held.entries
      contents.identities.merge(held.identities) { $1 }
    }
    return contents
  }

  /// An entry with a form is added: the copy of that is whole, as the user has submitted it. From
  /// now on it stays as it is.
  ///
  /// - Returns: `false` if its copy is gone: a removal took it, and the entry must not be added.
  func judgeCopy(_ stored: StoredEntry, in scope: Scope) async -> Bool {
    guard let entry = try? OutboxEntry(decoding: stored), let request = entry.request, request.hasForm else {
      return true
    }
    guard let form = await files?.form(of: entry.id, in: scope) else { return false }
    guard let mark = record(entry.id)?.errand.mark, let upload = upload(mark) else {
      world.check(false, "a form is added that nobody has submitted")
      return true
    }
    if let known = server.forms.value[mark] {
      world.check(form == known, "the form \(mark) is another one when its entry is added again")
      return true
    }
    let type = request.fields.first { $0.name.lowercased() == "content-type" }?.value ?? ""
    world.check(
      upload.matches(form, contentType: type), "of the form \(mark), \(form.count) bytes are added: \(upload)")
    server.forms.change { $0[mark] = form }
    return true
  }

  /// An entry that a user discards has an outcome that has not changed: in the store, it waits for
  /// a decision. An entry that the process cannot read may be discarded in any state.
  func judgeDecisions(_ changes: [OutboxChange], in client: Int, knowsAll: Bool) {
    guard let view = view(client) else { return }
    for case .remove(let id) in changes where view.discarding.contains(id) {
      let required = changes.lazy.compactMap { change -> StoredEntry? in
        if case .require(let stored) = change, stored.id == id { stored } else { nil }
      }.first
      guard let required, let entry = try? OutboxEntry(decoding: required) else { continue }
      guard knowsAll || entry.name != RenameCard.name else { continue }
      switch entry.state {
      case .refused, .unresolved, .conflicted, .accepted: break
      case .waiting, .sending, .unknown:
        // Another user may withdraw it at the same time.
        guard record(id)?.decisions ?? 0 < 2 else { continue }
        world.check(false, "\(name(id)) is discarded, and was sent again: it is \(entry.state)")
      }
    }
  }
}
