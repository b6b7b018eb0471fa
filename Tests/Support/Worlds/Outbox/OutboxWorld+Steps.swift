import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorOutbox
import ReactorTesting

/// The steps of the users.
extension OutboxWorld {
  func step(_ user: SimulatedUser) async throws {
    let client = anyClient(user.draws)
    let path = user.draws.element(of: BoardServer.paths) ?? "/a"
    if try await takeLaterStep(path, user, client) { return }
    switch user.draws.number(below: 32) {
    case 0..<12: try await submit(path, user, client)
    case 12: try await withdraw(user, client)
    case 13: try await retry(user, client)
    case 14: try await discard(user, client)
    case 15: pause(user, client)
    case 16: signIn(user, client)
    case 17..<21: try await fetch(path, user, client)
    case 21: await look(path, user, client)
    case 22: if traits.saves { try await save(path, user, client) }
    case 23: try await invalidate(path, user, client)
    case 24: if traits.saves { try await remove(path, client) }
    case 25..<28: server.changeByOthers(path)
    case 28: try await drain(user, client)
    case 29..<31: if traits.crashes { await crash(user) }
    default: if traits.signsOut { try await signOut(user) }
    }
    await judgeCopies()
    for client in running { client.judgeNow("after a step of user \(user.number)") }
  }

  /// Takes a step that was added later, in the worlds that have it.
  private func takeLaterStep(_ path: String, _ user: SimulatedUser, _ client: OutboxClient) async throws -> Bool {
    if traits.bursts, user.draws.chance(0.1) {
      try await submitSeveral(path, user, client)
    } else if traits.storeFails, user.draws.chance(0.1) {
      let all = StoreCall.allCases.filter { traits.hasUploads || !$0.isOfForms }
      let calls = all.filter { _ in user.draws.chance(0.5) }
      world.note("of the store, \(calls) fail")
      let duration = user.draws.duration(upTo: .seconds(user.draws.element(of: [1, 20, 120]) ?? 1))
      try await book.whileFailing(calls) { try await world.clock.sleep(for: duration) }
      world.note("of the store, \(calls) fail no more")
    } else if traits.isShared, laterDraws.chance(0.1) {
      try await decideTwice(user, client)
    } else if traits.leaves, user.draws.chance(0.05) {
      try await signOut(user)
    } else if traits.removesInCircles, user.draws.chance(0.05) {
      try await removeInCircle(client)
    } else {
      return false
    }
    await judgeCopies()
    for client in running { client.judgeNow("after a step of user \(user.number)") }
    return true
  }

  /// Removes everything in a step that another step waits for. Nothing is removed from the disk,
  /// and the outbox continues.
  private func removeInCircle(_ client: OutboxClient) async throws {
    guard book.view(client.number)?.storeRemovals == 0 else { return }
    world.note("client \(client.number): everything is removed in a circle")
    book.changeView(client.number) { $0.hasFailedToRemove = true }
    _ = try await client.run { await $0.removeInCircle() }
  }

  /// Submits several errands at once, or one right after the other, some of them in one lane.
  func submitSeveral(_ path: String, _ user: SimulatedUser, _ client: OutboxClient) async throws {
    var errands = (0..<user.draws.number(in: 2...8)).compactMap { _ in errand(path, user, client) }
    if user.draws.chance(0.5) { for index in errands.indices { errands[index].lane = path } }
    let isAtOnce = user.draws.chance(0.5)
    _ = try await client.run { [errands] client in
      await withTaskGroup(of: Void.self) { group in
        for errand in errands {
          group.addTask { if let answer = try? await submitted(errand, client) { wait(for: answer, errand, client) } }
          if !isAtOnce { await group.next() }
        }
      }
    }
  }

  private func submit(_ path: String, _ user: SimulatedUser, _ client: OutboxClient) async throws {
    guard let errand = errand(path, user, client) else { return }
    let keepsWaiting = user.draws.chance(0.3)
    _ = try await client.run { client in
      guard let answer = try await submitted(errand, client) else { return }
      guard keepsWaiting else {
        return wait(for: answer, errand, client)
      }
      _ = try await user.impatiently(in: world, probability: 1, after: .seconds(20)) { await answer() }
    }
  }

  /// Submits an errand.
  ///
  /// - Returns: what waits for its end; `nil` if it could not be saved.
  func submitted(_ errand: Errand, _ client: OutboxClient) async throws -> (@Sendable () async -> Void)? {
    do {
      let answer =
        switch errand.kind {
        case .add: try await submitted(AddCard(errand: errand), client)
        case .rename: try await submitted(RenameCard(errand: errand), client)
        case .remove: try await submitted(RemoveCard(errand: errand), client)
        case .leak: try await submitted(LeakSecret(errand: errand), client)
        case .photo: try await submitted(AddPhoto(errand: errand), client)
        case .upload: try await submittedUpload(errand, client)
        case .check:
          switch errand.mark % 4 {
          case 0: try await submitted(CheckCardAsking(errand: errand), client)
          case 1: try await submitted(CheckCardOnce(errand: errand), client)
          default: try await submitted(CheckCard(errand: errand), client)
          }
        }
      world.note("client \(client.number): \(errand.mark) is saved")
      if !client.hasEnded, let id = book.record(of: errand.mark)?.id { book.change(id) { $0.isAcknowledged = true } }
      return answer
    } catch {
      guard !client.hasEnded, let id = book.record(of: errand.mark)?.id else { return nil }
      book.note("client \(client.number): \(errand.mark) is not saved: \(error)")
      let mayFail = traits.mayFailToSave(world) || mayFail(errand, client, error)
      world.check(mayFail, "\(errand) is not saved: \(error)")
      book.notSaved(id, in: client.number)
      return nil
    }
  }

  private func submitted<M: ErrandMutation>(_ mutation: M, _ client: OutboxClient) async throws
    -> @Sendable () async -> Void
  {
    let submission = try await client.submitting(mutation.errand) { try await client.layer.submit(mutation) }
    return answer(to: submission, mutation.errand, client)
  }

  /// Returns what waits for the end of a submission.
  func answer<Answer>(
    to submission: Submission<Answer>, _ errand: Errand, _ client: OutboxClient
  ) -> @Sendable () async -> Void {
    { [book] in
      do {
        _ = try await submission.answer()
        guard !client.hasEnded else { return }
        book.world.check(
          book.record(submission.id)?.wasAccepted == true, "\(errand) has an answer, and was not accepted")
      } catch ReactorError.cancelled where Task.isCancelled {
      } catch {
        book.note("client \(client.number): \(errand.mark) ends with \(error)")
      }
    }
  }

  /// Waits in the background, for as long as it takes or the process lives.
  func wait(for answer: @escaping @Sendable () async -> Void, _ errand: Errand, _ client: OutboxClient) {
    book.wait(in: client.number, 1)
    _ = spawnApart(on: world.configuration.taskExecutor) { [book] in
      _ = try? await client.run { _ in await answer() }
      book.wait(in: client.number, -1)
    }
  }

  func errand(_ path: String, _ user: SimulatedUser, _ client: OutboxClient) -> Errand? {
    let draws = user.draws
    let lane = draws.element(of: ["main", "main", "main", path, "other"]) ?? "main"
    let mark = book.nextMark()
    var errand = Errand(
      mark: mark, owner: client.owner, kind: .add, board: path,
      card: .named("tmp-\(UUID.drawn(from: draws).uuidString)"),
      title: "title \(mark)", lane: lane, price: Price(of: mark))
    if mark % 50 == 0 { errand.kind = .leak }
    if mark % 11 == 0, traits.hasPhotos { errand.kind = .photo }
    if errand.kind == .add, traits.hasUploads, laterDraws.chance(0.35) { errand.kind = .upload }
    if traits.isSlow, laterDraws.chance(0.3) {
      errand.delay = laterDraws.number(in: 1...(laterDraws.element(of: [300, 5_000, 60_000]) ?? 1))
    }
    guard errand.kind == .add, !draws.chance(0.4) else { return errand }
    // A card that a user sees, perhaps one unknown to the server yet.
    let shown = client.boards.cached(Resource(path)) ?? client.latest.value[path]?.value
    guard let card = draws.element(of: shown?.cards ?? []) else { return errand }
    errand.kind = draws.element(of: [.rename, .rename, .check, .check, .remove]) ?? .rename
    errand.card = book.id(ofShown: card.id, board: path)
    errand.isDone = !card.isDone
    errand.isConditional = draws.chance(errand.kind == .rename ? 0.3 : 0.8)
    return errand
  }

  private func fetch(_ path: String, _ user: SimulatedUser, _ client: OutboxClient) async throws {
    let policies: [FetchPolicy] = [
      .cacheFirst, .staleWhileRevalidate, .networkFirst, .networkOnly, .networkOnly, .cacheOnly,
    ]
    let policy = user.draws.element(of: policies) ?? .cacheFirst
    var path = path
    if user.draws.chance(0.5), let card = user.draws.element(of: client.boards.cached(Resource(path))?.cards ?? []) {
      path += "/\(card.id)"
    }
    world.note("client \(client.number): user \(user.number) fetches \(path) by \(policy)")
    _ = try await client.run { [path] client in
      let board = try? await user.impatiently(in: world) {
        try await client.boards.fetch(Resource(path), policy: policy)
      }
      world.note(
        "client \(client.number): user \(user.number) has fetched \(path): \((board ?? nil).map { "\($0.version) \($0.cards.map(\.text))" } ?? "nothing")"
      )
    }
  }

  private func save(_ path: String, _ user: SimulatedUser, _ client: OutboxClient) async throws {
    guard let cards = client.boards.confirmed(Resource(path))?.cards else { return }
    let board = book.beginSaving(cards.shuffled(by: user.draws), at: path)
    world.note("client \(client.number): user \(user.number) saves \(path) as \(board.version)")
    _ = try await client.run { try? await $0.boards.save(board, for: Resource(path)) }
    book.endSaving(board, at: path)
  }

  private func remove(_ path: String, _ client: OutboxClient) async throws {
    _ = try await client.run { [book] client in
      do { try await client.boards.remove(Resource(path)) } catch {
        book.changeView(client.number) { $0.hasFailedToRemove = true }
      }
    }
  }

  private func invalidate(_ path: String, _ user: SimulatedUser, _ client: OutboxClient) async throws {
    let isAll = user.draws.chance(0.3)
    world.note("client \(client.number): \(isAll ? "everything" : path) is invalidated")
    _ = try await client.run { client in
      isAll ? await client.layer.invalidate(.all) : await client.boards.invalidate(Resource(path))
    }
  }

  /// Watches for a while: a board, or the page of a card.
  private func look(_ path: String, _ user: SimulatedUser, _ client: OutboxClient) async {
    let card = user.draws.element(of: client.boards.cached(Resource(path))?.cards ?? [])
    let longest = user.draws.duration(upTo: .seconds(5))
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await client.watch(card.map { "\(path)/\($0.id)" } ?? path, isLasting: false) }
      group.addTask { try? await world.clock.sleep(for: longest) }
      await group.next()
      group.cancelAll()
    }
  }
}

extension [Card] {
  /// As a user saves them: in another order.
  fileprivate func shuffled(by draws: SeededDraws) -> [Card] {
    isEmpty ? [] : Array(self[draws.number(below: count)...] + self[..<draws.number(below: 1)])
  }
}

// MARK: - The outbox

extension OutboxWorld {
  private func entry(_ user: SimulatedUser, _ client: OutboxClient, _ isMeant: (Outbox.Entry.State) -> Bool) -> Outbox
    .Entry?
  {
    user.draws.element(of: client.layer.outbox.entries.filter { isMeant($0.state) })
  }

  private func withdraw(_ user: SimulatedUser, _ client: OutboxClient) async throws {
    guard let entry = entry(user, client, { _ in true }) else { return }
    try await end(entry, client, "withdrawn", { await $0.withdraw(entry.id) }) { $0.wasWithdrawn = true }
  }

  private func discard(_ user: SimulatedUser, _ client: OutboxClient) async throws {
    guard let entry = entry(user, client, { _ in true }) else { return }
    try await discard(entry, client)
  }

  func discard(_ entry: Outbox.Entry, _ client: OutboxClient) async throws {
    book.changeView(client.number) { _ = $0.discarding.insert(entry.id) }
    defer { book.changeView(client.number) { $0.discarding.remove(entry.id) } }
    try await end(entry, client, "discarded", { await $0.discard(entry.id) }) { $0.wasDiscarded = true }
  }

  /// A user sends an entry again in one process, which pauses, and discards it in another, which
  /// has not heard of that.
  private func decideTwice(_ user: SimulatedUser, _ client: OutboxClient) async throws {
    guard let other = running.first(where: { $0 !== client && $0.owner == client.owner }),
      let entry = entry(user, client, { $0.isOver }),
      other.layer.outbox.entries.contains(where: { $0.id == entry.id && $0.state.isOver })
    else { return }
    world.note("client \(client.number) pauses")
    client.layer.outbox.pause()
    book.changeView(client.number) { $0.isPaused = true }
    try await retry(entry, client, forgives: user.draws.chance(0.5))
    if !other.hasEnded { try await discard(entry, other) }
  }

  /// Ends an entry by a decision of the program's, which another process may take at the same time.
  private func end(
    _ entry: Outbox.Entry, _ client: OutboxClient, _ word: String, _ decide: @escaping @Sendable (Outbox) async -> Bool,
    _ mark: (inout OutboxReference.Record) -> Void
  ) async throws {
    let who = "client \(client.number): \(book.name(entry.id)) is \(word)"
    world.note(who)
    book.change(entry.id) { $0.decisions += 1 }
    let began = world.clock.now
    guard let isDone = try await client.run({ await decide($0.layer.outbox) }) else { return }
    world.note("\(who): \(isDone)")
    judgeDuration(since: began, who)
    book.change(entry.id) { record in
      record.decisions -= 1
      guard isDone else { return }
      record.isGone = true
      mark(&record)
    }
    if isDone { await judgeGone(entry.id, client.owner, who) }
  }

  /// A decision waits for the calls of the store that it makes, and for nothing that may take as
  /// long as it likes: a request that is made, or a store that fails.
  private func judgeDuration(since began: TestClock.Instant, _ who: String) {
    let took = began.duration(to: world.clock.now)
    world.check(took < .seconds(60), "\(who), after \(took / .seconds(1)) s")
  }

  private func judgeGone(_ id: UUID, _ owner: String, _ who: String) async {
    let contents = await book.contents(of: owner)
    world.check(!contents.entries.contains { $0.id == id }, "\(who), and is in the store still")
  }

  private func retry(_ user: SimulatedUser, _ client: OutboxClient) async throws {
    guard let entry = entry(user, client, { $0.isOver || user.draws.chance(0.2) }) else { return }
    try await retry(entry, client, forgives: user.draws.chance(0.7))
  }

  /// Sends an entry again, which the server may then no longer refuse.
  func retry(_ entry: Outbox.Entry, _ client: OutboxClient, forgives: Bool) async throws {
    world.note("client \(client.number): \(book.name(entry.id)) is to be sent again")
    if forgives, let mark = book.record(entry.id)?.errand.mark { server.forgive(mark) }
    if case .unresolved = entry.state { book.change(entry.id) { $0.wasSentInDoubt = true } }
    let last = book.view(client.number)?.lastPlace ?? 0
    book.changeView(client.number) { $0.retries.append(last) }
    let began = world.clock.now
    let isDone = try await client.run { await $0.layer.outbox.retry(entry.id) }
    judgeDuration(since: began, "\(book.name(entry.id)) is sent again")
    book.changeView(client.number) { view in
      if let index = view.retries.firstIndex(of: last) { view.retries.remove(at: index) }
    }
    world.note("client \(client.number): \(book.name(entry.id)) \(isDone == true ? "is" : "is not") sent again")
  }

  private func pause(_ user: SimulatedUser, _ client: OutboxClient) {
    let pauses = user.draws.chance(0.5)
    world.note("client \(client.number) \(pauses ? "pauses" : "resumes")")
    if pauses { client.layer.outbox.pause() }
    book.changeView(client.number) { $0.isPaused = pauses }
    if !pauses { client.layer.outbox.resume() }
  }

  /// The server forgets who somebody is, or that one signs in again.
  private func signIn(_ user: SimulatedUser, _ client: OutboxClient) {
    guard server.isSignedOut(client.owner) else {
      world.note("the server does not know \(client.owner) any more")
      return server.signOut(client.owner, true)
    }
    world.note("\(client.owner) signs in")
    server.signOut(client.owner, false)
    for client in running {
      book.changeView(client.number) { $0.isPaused = false }
      client.layer.outbox.resume()
    }
  }

  private func drain(_ user: SimulatedUser, _ client: OutboxClient) async throws {
    let longest = user.draws.duration(upTo: .seconds(10))
    let began = world.clock.now
    let left = try await client.run { await $0.layer.outbox.drain(within: longest) }
    guard let left else { return }
    let took = began.duration(to: world.clock.now)
    world.note("client \(client.number) has drained for \(took / .seconds(1)) s, and \(left) are left")
  }
}

extension [Outbox.Entry] {
  /// The first of each lane that has not ended: those behind it wait for it.
  var firstOfLanes: [Lane: Outbox.Entry] {
    Dictionary(filter { !$0.state.isOver || $0.state.isConflicted }.map { ($0.lane, $0) }) { first, _ in first }
  }
}

extension Outbox.Entry.State {
  var isConflicted: Bool { if case .conflicted = self { true } else { false } }

  /// A Boolean value that indicates whether nothing becomes of it by itself.
  var isOver: Bool {
    switch self {
    case .waiting, .sending, .unknown: false
    default: true
    }
  }
}
