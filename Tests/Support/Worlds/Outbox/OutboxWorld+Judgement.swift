import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorOutbox
import ReactorTesting

extension OutboxReference {
  /// What was acknowledged is in the store, unless it has ended.
  func judgeSurvival() async {
    var stored: Set<UUID> = []
    for owner in ["ann", "bob"] {
      let contents = await contents(of: owner)
      note(contents)
      stored.formUnion(contents.entries.map(\.id))
      for entry in contents.entries {
        let text = String(decoding: entry.bytes, as: UTF8.self)
        world.check(!text.contains(BoardServer.secret), "a secret is in the store, in \(name(entry.id))")
        world.check(record(entry.id)?.errand.owner == owner, "\(name(entry.id)) is in the store of \(owner)")
        world.check(record(entry.id)?.isNotSaved == false, "\(name(entry.id)) was not saved, and is in the store")
      }
    }
    for record in records where record.isAcknowledged && !record.mayBeGone && !stored.contains(record.id) {
      let isDone = record.wasAccepted || !server.applications(of: record.errand.mark).isEmpty
      world.check(isDone, "\(record.errand) was acknowledged, and is gone")
    }
  }

  /// Returns the id of a card that is shown: the temporary one where the server has given none.
  func id(ofShown id: Int, board: String) -> TemporaryID {
    let maker = records.first { $0.errand.kind == .add && $0.errand.card.int == id }
    return maker?.errand.card ?? .named("\(id)")
  }
}

extension OutboxWorld {
  /// Nothing is left of what was there as the removal began. Another may have begun since, of what
  /// was written since.
  ///
  /// - Parameter copied: The entries whose forms had a copy then, whichever process made it.
  func judgeRemoval(of owner: String, _ removed: Set<UUID>, _ copied: Set<UUID>) async {
    for id in copies(of: owner).intersection(removed.union(copied)) {
      // Its submission could not remove it, perhaps after the removal was over.
      guard book.record(id)?.isStuck == false else { continue }
      world.check(false, "\(owner) has signed out, and the copy of \(book.name(id)) is on the disk")
    }
    let contents = await book.contents(of: owner)
    for entry in contents.entries {
      guard removed.contains(entry.id), let record = book.record(entry.id) else { continue }
      world.check(false, "\(owner) has signed out, and \(record.errand) is in the store")
    }
  }

  /// The world gets well, and everything ends that can.
  func recover() async throws {
    world.currentFaults = .none
    server.getWell()
    world.note("all is well")
    for client in running where client.isOff { end(client, crashes: false) }
    for client in running {
      book.changeView(client.number) { $0.isPaused = false }
      client.layer.outbox.resume()
    }
    try await judgeTimers()
    // A process knows what was there when it began.
    if traits.isShared || traits.runsOlder || draws.chance(0.3) {
      for client in running { end(client, crashes: false) }
    }
    let clients = traits.isShared && draws.chance(0.5) ? [client(0), client(1)] : [client(0)]
    for round in 0..<60 {
      try await world.clock.sleep(for: .seconds(60))
      var isOver = true
      for client in clients {
        // A process that started early does not know what processes that stopped late have left.
        _ = try? await client.layer.outbox.reload()
        client.judgeNow("while all ends")
        let entries = client.layer.outbox.entries
        // What others wait for is decided, however long it takes.
        let isAwaited = entries.contains { if case .waiting(.identity) = $0.state { true } else { false } }
        for entry in entries {
          let isConflicted = entry.state.isConflicted
          if !entry.state.isOver || isConflicted { isOver = false }
          guard round > 2, round < 10 || isConflicted || isAwaited, draws.chance(0.5) else { continue }
          try await decide(entry, client)
          isOver = false
        }
      }
      if isOver, round > 10 { return }
    }
    for client in clients {
      for entry in client.layer.outbox.entries {
        world.check(entry.state.isOver, "\(book.name(entry.id)) is \(entry.state), an hour after all is well")
      }
    }
  }

  /// What waits for a time is sent by itself, soon after that time, however the wall clock was set.
  private func judgeTimers() async throws {
    try await world.clock.sleep(for: .seconds(600))
    let now = world.clock.wallClock()
    for client in running {
      for entry in client.layer.outbox.entries.firstOfLanes.values {
        switch entry.state {
        case .waiting(.turn), .unknown(.turn), .waiting(.connectivity), .unknown(.connectivity):
          world.check(false, "\(book.name(entry.id)) is \(entry.state), ten minutes after all is well")
        case .waiting(.backoff(let until)), .unknown(.backoff(let until)):
          world.check(until > now, "\(book.name(entry.id)) is \(entry.state) at \(now)")
        default: break
        }
      }
    }
  }

  /// Sends an entry again, or discards it.
  private func decide(_ entry: Outbox.Entry, _ client: OutboxClient) async throws {
    switch entry.state {
    case .conflicted:
      guard draws.chance(0.3) else { return try await retry(entry, client, forgives: false) }
      try await discard(entry, client)
    case .refused, .unresolved:
      guard draws.chance(0.5) else { return try await discard(entry, client) }
      try await retry(entry, client, forgives: draws.chance(0.5))
    default: break
    }
  }

  /// The streams ask again by themselves. A caller's request is not fetched before: it would pass a
  /// key at which streams wait for a write that is over.
  private func judgeWatchers(_ clients: [OutboxClient]) async throws {
    // One that does not ask would show what the server had before.
    for path in BoardServer.paths { server.changeByOthers(path) }
    for client in clients {
      for path in BoardServer.paths { await client.boards.invalidate(Resource(path)) }
    }
    try await world.clock.sleep(for: .seconds(60))
    for client in clients {
      for path in BoardServer.paths {
        guard let state = client.latest.value[path] else { continue }
        world.check(
          state.value == server.board(path) && state.drafts.isEmpty,
          "a watcher of \(path) in client \(client.number) shows \(String(describing: state.value)), \(state.drafts.count) drafts, a minute after an invalidation"
        )
      }
    }
  }

  func judgeEnd() async throws {
    let clients = running
    try await judgeWatchers(clients)
    for client in clients {
      world.check(
        book.waiting(in: client.number) == 0,
        "\(book.waiting(in: client.number)) wait for answers in client \(client.number)")
      for path in BoardServer.paths {
        let board = try? await client.boards.fetchFromNetwork(Resource(path))
        world.check(
          board == server.board(path),
          "client \(client.number) gets \(String(describing: board)) at the end, and the server has \(String(describing: server.board(path)))"
        )
        let cached = client.boards.cached(Resource(path))
        world.check(
          traits.evicts || traits.isUnstored || cached == server.board(path),
          "client \(client.number) shows \(String(describing: cached)) at the end")
      }
    }
    try await world.clock.sleep(for: .seconds(1))
    for client in clients {
      for path in BoardServer.paths {
        guard let state = client.latest.value[path] else { continue }
        world.check(
          state.value == server.board(path),
          "a watcher of \(path) in client \(client.number) shows \(String(describing: state.value)) at the end")
        world.check(
          state.drafts.isEmpty,
          "a watcher of \(path) in client \(client.number) shows drafts at the end")
      }
    }
    await book.judgeSurvival()
    for owner in ["ann", "bob"] { await judgeStore(of: owner) }
    await judgeRecords()
    judgeApplications()
    for client in clients { end(client, crashes: false) }
    try await world.clock.sleep(for: .seconds(1))
    await judgeLastCopies()
    world.check(world.network.inFlight == 0, "\(world.network.inFlight) requests are under way, and nobody is there")
  }

  /// All entries in the store are finished, and none is leased.
  private func judgeStore(of owner: String) async {
    let contents = await book.contents(of: owner)
    guard running.first?.owner == owner else { return }
    let now = world.clock.wallClock()
    for stored in contents.entries {
      guard let entry = try? OutboxEntry(decoding: stored) else {
        world.check(false, "\(book.name(stored.id)) cannot be read")
        continue
      }
      world.check(!entry.hasPlace, "\(book.name(stored.id)) is saved as \(entry.state) at the end")
      let lease = contents.leases[stored.id]
      world.check(
        entry.state == .accepted || traits.setsClock || lease.map { $0.until <= now } ?? true,
        "somebody has a lease of \(book.name(stored.id)) at the end, which is \(entry.state)")
    }
  }

  /// No record has a draft in it.
  private func judgeRecords() async {
    for (key, record) in await world.disk.records() {
      guard let board = try? JSONDecoder().decode(Board.self, from: record.body) else { continue }
      let path = String(key.url.dropFirst("https://api.example.com".count))
      let known =
        board.version < 0 ? book.saved(board.version, at: path)?.board : server.version(board.version, of: path)?.board
      world.check(known == board, "the record of \(key) has what nobody has said: \(board)")
    }
  }

  /// Each errand was carried out as often as was said.
  private func judgeApplications() {
    for record in book.records {
      let errand = record.errand
      let count = server.applications(of: errand.mark).count
      let who = "\(errand), which was carried out \(count) times, \(record.end ?? "has not ended")"
      // A write that finds nothing any more counts as if its answer was lost.
      if record.wasAccepted, errand.kind != .remove { world.check(count > 0, who) }
      if record.wasWithdrawn { world.check(count == 0, "\(who), and was withdrawn") }
      guard traits.isStrict, !traits.setsClock, !record.wasSentInDoubt, [.add, .rename, .upload].contains(errand.kind)
      else { continue }
      world.check(count <= 1, who)
      if record.end?.hasPrefix("refused") == true { world.check(count == 0, who) }
    }
  }
}
