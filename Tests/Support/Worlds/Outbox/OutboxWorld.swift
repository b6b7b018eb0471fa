import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorOutbox
import ReactorTesting
import Synchronization

/// Users who write through outboxes: in one process or two, which crash, end and begin again over
/// the same disk, for one user after the other.
struct OutboxWorld: Sendable {
  let world: SimulatedWorld
  let traits: OutboxTraits
  let server: BoardServer
  let book: OutboxReference
  let draws: SeededDraws
  private let clients: Shared<[OutboxClient?]>
  /// For words that were added later.
  let laterDraws: SeededDraws
  private let owner = Shared("ann")
  private let lastClient = Shared(0)

  init(_ world: SimulatedWorld) throws {
    self.world = world
    let draws = world.draws.split()
    self.draws = draws
    laterDraws = world.laterDraws.split()
    ThreadClock.current = world.clock
    traits = OutboxTraits(world, draws)
    let files = traits.storage.isReal ? try OutboxFiles(isDatabase: traits.storage == .database) : nil
    server = BoardServer(world, traits.habits(draws), draws.split())
    book = OutboxReference(world, server, traits, files)
    clients = Shared(traits.isShared ? [nil, nil] : [nil])
    world.note("\(traits) \(server.habits)")
    world.network.serve { [server] request, body in server.answer(request, body) }
  }

  /// The processes that run.
  var running: [OutboxClient] { clients.value.compactMap(\.self).filter { !$0.hasEnded } }

  /// Returns the process of a place; a new one, if no process runs there.
  func client(_ place: Int) -> OutboxClient {
    if let client = clients.value[place], !client.hasEnded { return client }
    let number = lastClient.change { last in
      last += 1
      return last
    }
    let knowsAll = !traits.runsOlder || draws.chance(0.5) || server.isWell
    let isOff = traits.changesEnd && !server.isWell && laterDraws.chance(0.3)
    let client = OutboxClient(number, of: owner.value, traits, book, knowsAll: knowsAll, isOff: isOff, draws.split())
    clients.change { $0[place] = client }
    client.begin()
    return client
  }

  func anyClient(_ draws: SeededDraws) -> OutboxClient { client(draws.number(below: clients.value.count)) }

  /// Ends a process.
  func end(_ client: OutboxClient, crashes: Bool) {
    clients.change { clients in
      for place in clients.indices where clients[place] === client { clients[place] = nil }
    }
    client.end(crashes: crashes)
    book.endMemory(of: client.number)
  }

  /// Another user signs in: of the one before, nothing is left.
  func signOut(_ user: SimulatedUser) async throws {
    guard let client = running.first else { return }
    let old = client.owner
    world.note("\(old) signs out")
    for other in running where other !== client { end(other, crashes: false) }
    if traits.hasUploads, laterDraws.chance(0.6) { try await beginUpload(user, client) }
    let copied = Shared<Set<UUID>>([])
    let removed = try await client.run { client -> Set<UUID>? in
      let removed = book.beginRemoval(old, in: client.number)
      copied.change { $0 = copies(of: old) }
      defer {
        book.endRemoval(in: client.number)
        // A left removal has ended, too: memory takes no time.
        if traits.storage == .memory { book.endStoreRemoval(in: client.number) }
      }
      do {
        if traits.leaves, laterDraws.chance(0.5) { client.keepBusy(for: laterDraws.duration(upTo: .seconds(4))) }
        let probability = traits.leaves ? 0.5 : 0
        let patience = Duration.milliseconds(user.draws.chance(0.5) ? 5 : 500)
        let isDone: Void? = try await user.impatiently(in: world, probability: probability, after: patience) {
          try await client.layer.removeAll()
        }
        guard isDone != nil else { return try await leaveRemoval(removed, user, client) }
        book.removed(removed, in: client.number)
        return removed
      } catch {
        book.changeView(client.number) { $0.hasFailedToRemove = true }
        let mayFail = traits.mayFailToSave(world) || book.records.contains(where: \.mayLeaveCopy)
        world.check(client.hasEnded || mayFail, "signing out fails with \(error)")
        return nil
      }
    }
    guard let removed = removed ?? nil else { return }
    for id in removed where book.record(id)?.client == client.number { book.change(id) { $0.wasRemoved = true } }
    await judgeRemoval(of: old, removed, copied.value)
    guard !client.hasEnded, user.draws.chance(0.7) else { return }
    end(client, crashes: false)
    owner.change { $0 = old == "ann" ? "bob" : "ann" }
    world.note("\(owner.value) signs in")
  }

  /// Leaves a removal, which continues, and writes more, which it must not take. From then on it is
  /// unknown when the shown values go.
  ///
  /// - Returns: The entries that it has removed a minute later; `nil` if it may have failed.
  private func leaveRemoval(_ removed: Set<UUID>, _ user: SimulatedUser, _ client: OutboxClient) async throws -> Set<
    UUID
  >? {
    world.note("client \(client.number): nobody waits for the removal")
    book.changeView(client.number) { $0.hasFailedToRemove = true }
    try await world.clock.sleep(for: .milliseconds(1))
    try await submitSeveral("/a", user, client)
    try await world.clock.sleep(for: .seconds(60))
    return client.hasEnded || traits.mayFailToSave(world) ? nil : removed
  }

  func crash(_ user: SimulatedUser) async {
    guard let client = user.draws.element(of: running) else { return }
    let crashes = user.draws.chance(0.7)
    end(client, crashes: crashes)
    if crashes { await book.judgeSurvival() }
  }
}
