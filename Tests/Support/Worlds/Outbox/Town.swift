import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox
import ReactorTesting
import Synchronization

/// Users who write through outboxes: in one process or two, which crash, end and begin again over
/// the same disk, for one user after the other.
struct Town: Sendable {
  let world: SimulatedWorld
  let traits: OutboxTraits
  let server: BoardServer
  let book: OfficeBook
  let draws: SeededDraws
  private let offices: Shared<[Office?]>
  /// For words that were added later.
  let laterDraws: SeededDraws
  private let owner = Shared("ann")
  private let lastOffice = Shared(0)

  init(_ world: SimulatedWorld) {
    self.world = world
    let draws = world.draws.split()
    self.draws = draws
    laterDraws = world.laterDraws.split()
    ThreadClock.current = world.clock
    traits = OutboxTraits(world, draws)
    server = BoardServer(world, traits.habits(draws), draws.split())
    book = OfficeBook(world, server, traits)
    offices = Shared(traits.isShared ? [nil, nil] : [nil])
    world.note("\(traits) \(server.habits)")
    world.network.serve { [server] request, body in server.answer(request, body) }
  }

  /// The processes that run.
  var running: [Office] { offices.value.compactMap(\.self) }

  /// Returns the process of a place; one that begins, if none runs there.
  func office(_ place: Int) -> Office {
    if let office = offices.value[place] { return office }
    let number = lastOffice.change { last in
      last += 1
      return last
    }
    let knowsAll = !traits.runsOlder || draws.chance(0.5) || server.isWell
    let isOff = traits.changesEnd && !server.isWell && laterDraws.chance(0.3)
    let office = Office(number, of: owner.value, traits, book, knowsAll: knowsAll, isOff: isOff, draws.split())
    offices.change { $0[place] = office }
    office.begin()
    return office
  }

  func anyOffice(_ draws: SeededDraws) -> Office { office(draws.number(below: offices.value.count)) }

  /// Ends a process.
  func end(_ office: Office, crashes: Bool) {
    offices.change { offices in
      for place in offices.indices where offices[place] === office { offices[place] = nil }
    }
    office.end(crashes: crashes)
  }

  /// Another user signs in: of the one before, nothing is left.
  func signOut(_ user: SimulatedUser) async throws {
    guard let office = running.first else { return }
    let old = office.owner
    world.note("\(old) signs out")
    for other in running where other !== office { end(other, crashes: false) }
    let removed = try await office.run { office -> Set<UUID>? in
      let removed = book.beginRemoval(old, in: office.number)
      defer { book.endRemoval(in: office.number) }
      do {
        if traits.leaves, laterDraws.chance(0.5) { office.keepBusy(for: laterDraws.duration(upTo: .seconds(4))) }
        let probability = traits.leaves ? 0.5 : 0
        let patience = Duration.milliseconds(user.draws.chance(0.5) ? 5 : 500)
        let isDone: Void? = try await user.impatiently(in: world, probability: probability, after: patience) {
          try await office.layer.removeAll()
        }
        guard isDone != nil else { return try await leaveRemoval(removed, user, office) }
        book.removed(removed, in: office.number)
        return removed
      } catch {
        book.changeView(office.number) { $0.hasFailedToRemove = true }
        world.check(office.hasEnded || traits.mayFailToSave(world), "signing out fails with \(error)")
        return nil
      }
    }
    guard let removed = removed ?? nil else { return }
    await judgeRemoval(of: old, removed)
    guard !office.hasEnded, user.draws.chance(0.7) else { return }
    end(office, crashes: false)
    owner.change { $0 = old == "ann" ? "bob" : "ann" }
    world.note("\(owner.value) signs in")
  }

  /// Leaves a removal, which goes on, and writes more, which it must not take. From then on nobody
  /// knows when what is shown is gone.
  ///
  /// - Returns: The entries that it has removed a minute later; `nil` if it may have failed.
  private func leaveRemoval(_ removed: Set<UUID>, _ user: SimulatedUser, _ office: Office) async throws -> Set<UUID>? {
    world.note("office \(office.number): nobody waits for the removal")
    book.changeView(office.number) { $0.hasFailedToRemove = true }
    try await world.clock.sleep(for: .milliseconds(1))
    try await submitSeveral("/a", user, office)
    try await world.clock.sleep(for: .seconds(60))
    return office.hasEnded || traits.mayFailToSave(world) ? nil : removed
  }

  func crash(_ user: SimulatedUser) async {
    guard let office = user.draws.element(of: running) else { return }
    let crashes = user.draws.chance(0.7)
    end(office, crashes: crashes)
    if crashes { await book.judgeSurvival() }
  }
}
