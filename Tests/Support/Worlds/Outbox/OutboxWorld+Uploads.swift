import Foundation
import HTTPCaching
import ReactorConformance
import ReactorCore
import ReactorOutbox
import ReactorTesting

/// Uploads, and the copies of their forms.
extension OutboxWorld {
  /// Submits a form, whose file is then changed or removed.
  ///
  /// - Returns: what waits for its end.
  func submittedUpload(_ errand: Errand, _ client: OutboxClient) async throws -> @Sendable () async -> Void {
    guard let files = book.files else { return {} }
    let draws = laterDraws.split()
    let kinds = Upload.Trouble.Kind.allCases
    let kind = server.isWell || draws.chance(0.6) ? nil : draws.element(of: kinds)
    let trouble = kind.map { Upload.Trouble(kind: $0, calls: draws.number(below: 12)) }
    let upload = try Upload(of: errand, in: files.directory, trouble, draws)
    book.changeUpload(errand.mark) { $0 = upload }
    defer { endUpload(errand, client) }
    let submission = try await client.submitting(errand) {
      try await client.layer.submit(upload.request, lane: Lane(rawValue: errand.lane))
    }
    if let kind = draws.element(of: kinds) { book.change(errand.mark, kind) }
    return answer(to: submission, errand, client)
  }

  private func endUpload(_ errand: Errand, _ client: OutboxClient) {
    guard let id = book.record(of: errand.mark)?.id else { return }
    book.change(id) { record in
      record.isOver = true
      if client.process.hasCrashed { record.mayLeaveCopy = true }
    }
  }

  /// Returns a Boolean value that indicates whether a form may not be added for this reason: its
  /// file is not what it was, it cannot be copied, or its user has signed out since.
  func mayFail(_ errand: Errand, _ client: OutboxClient, _ error: any Error) -> Bool {
    guard let upload = book.upload(errand.mark), let record = book.record(of: errand.mark) else { return false }
    switch error {
    // Also by a removal that then fails.
    case ReactorError.cancelled: return record.isGone || book.view(client.number)?.hasFailedToRemove == true
    case ReactorError.network(let error as MultipartForm.FileError) where error.part != nil: return upload.isTouched
    default: return upload.trouble?.kind == .full
    }
  }

  /// Submits a form in the background, and returns while it is being copied.
  func beginUpload(_ user: SimulatedUser, _ client: OutboxClient) async throws {
    guard var errand = errand("/a", user, client) else { return }
    errand.kind = .upload
    _ = spawnApart(on: world.configuration.taskExecutor) { [self, errand] in
      _ = try? await client.run { client in
        if let answer = try await submitted(errand, client) { self.wait(for: answer, errand, client) }
      }
    }
    try await world.clock.sleep(for: laterDraws.duration(upTo: .milliseconds(50)))
  }

  /// Each entry with a form has its copy, whole. Each copy has such an entry, but those that are
  /// being made, and copies whose process has ended.
  func judgeCopies(isLast: Bool = false) async {
    guard let files = book.files else { return }
    let copies = files.forms
    var kept: Set<UUID> = []
    for owner in ["ann", "bob"] {
      for entry in await uploads(of: owner) {
        let id = entry.id
        kept.insert(id)
        let form = await files.form(of: id, in: Scope(owner))
        let isThere = form != nil && form == server.forms.value[book.record(id)?.errand.mark ?? 0]
        guard !isThere, await uploads(of: owner).contains(where: { $0.id == id }) else { continue }
        world.check(false, "\(book.name(id)) is \(entry.state), and its copy has \(form?.count ?? 0) bytes")
      }
    }
    for id in copies where !kept.contains(id) && files.forms.contains(id) {
      guard let record = book.record(id) else { return world.check(false, "the copy \(id) is nobody's") }
      let mayStay = !isLast && (record.mayLeaveCopy || !record.isOver)
      world.check(mayStay, "a copy of \(record.errand) stays, whose entry has ended: \(record.end ?? "not added")")
    }
  }

  /// The entries of an owner whose forms have a copy now.
  func copies(of owner: String) -> Set<UUID> {
    Set((book.files?.forms ?? []).filter { book.record($0)?.errand.owner == owner })
  }

  private func uploads(of owner: String) async -> [OutboxEntry] {
    let entries = await book.contents(of: owner).entries.compactMap { try? OutboxEntry(decoding: $0) }
    return entries.filter { $0.request?.hasForm == true }
  }

  /// A new process removes the copies that others have left.
  func judgeLastCopies() async {
    guard let files = book.files else { return }
    await judgeCopies()
    for record in book.records where record.wasRemoved {
      let contents = await book.contents(of: record.errand.owner)
      world.check(!contents.entries.contains { $0.id == record.id }, "\(record.errand) is stored, and was signed out")
    }
    // One that may belong to an entry that another process has in memory is kept for days.
    for days in [10.0, 20] {
      let now = world.clock.wallClock().addingTimeInterval(days * 86_400)
      do {
        let store = try files.open { now }
        for owner in ["ann", "bob"] { _ = try await store.contents(of: Scope(owner)) }
      } catch { world.check(false, "a new process: \(error)") }
    }
    await judgeCopies(isLast: true)
  }
}
