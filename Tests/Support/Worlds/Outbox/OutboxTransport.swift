import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorOutbox
import ReactorTesting
import Synchronization

/// The credential of a process's user, and its number.
struct ClientCredential: TransportMiddleware {
  let owner: String
  let client: Int

  func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
    var request = request
    request.headerFields[.authorization] = BoardServer.secret + owner
    request.headerFields[.client] = "\(client)"
    return try await next(request, body)
  }
}

/// The way from one process to the network. It sees that each request may be sent as it is.
final class OutboxTransport: Transport {
  let book: OutboxReference
  let client: Int
  let process: SimulatedProcess
  /// The entries of the process.
  let entries = Shared<@Sendable () -> [Outbox.Entry]>({ [] })
  private let draws: SeededDraws
  private let writes = Mutex<[String: Int]>([:])

  init(_ book: OutboxReference, _ client: Int, _ process: SimulatedProcess, _ draws: SeededDraws) {
    self.book = book
    self.client = client
    self.process = process
    self.draws = draws
  }

  private var world: SimulatedWorld { book.world }

  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    guard !process.hasCrashed else { throw TransportError.notConnected("the process has crashed") }
    let path = request.path ?? ""
    guard request.method != .get else {
      let count = writes.withLock { $0[path] ?? 0 }
      world.check(count == 0 || Task.isCancelled, "client \(client) reads \(path) while it sends a write of it")
      return try await world.network.send(request, body: body, progress: progress)
    }
    if !Task.isCancelled {
      await book.judgeSending(request, body, in: client)
    }
    let paths = [path, path.split(separator: "/").first.map { "/\($0)" } ?? path]
    change(paths, by: 1)
    defer { change(paths, by: -1) }
    if world.network.isDown, draws.chance(0.5) { throw TransportError.notConnected("there is no network") }
    do {
      return try await world.network.send(request, body: body, progress: progress)
    } catch is CancellationError {
      arriveLater(request, body)
      throw CancellationError()
    }
  }

  private func change(_ paths: [String], by difference: Int) {
    writes.withLock { writes in
      for path in Set(paths) { writes[path, default: 0] += difference }
    }
  }

  /// A request that was given up may be on its way. Where it has a key, the server may get it at
  /// any time.
  private func arriveLater(_ request: HTTPRequest, _ body: Data?) {
    guard request.headerFields[.idempotencyKeyField] != nil, draws.chance(0.3) else { return }
    let (server, clock, wait) = (book.server, world.clock, draws.duration(upTo: .seconds(5)))
    _ = spawnApart(on: world.configuration.taskExecutor) {
      try? await clock.sleep(for: wait)
      _ = server.answer(request, body)
    }
  }
}

extension OutboxReference {
  /// Sees that a write is saved as it is sent, that its turn has come, and that it was not
  /// withdrawn.
  func judgeSending(_ request: HTTPRequest, _ body: Data?, in client: Int) async {
    let mark = request.headerFields[.mark].flatMap(Int.init) ?? 0
    guard let record = record(of: mark), let view = view(client) else {
      return world.check(false, "client \(client) sends \(request.path ?? ""), which nobody has submitted")
    }
    let errand = record.errand
    let who = "client \(client) sends \(errand)"
    world.check(errand.owner == view.owner, "\(who) of \(errand.owner) with the credential of \(view.owner)")
    world.check(!errand.isNeverSent, "\(who), which the outbox has to refuse")
    world.check(!record.wasWithdrawn && !record.wasDiscarded, "\(who), which was taken back")
    world.check(!record.wasRemoved || record.client != client, "\(who), whose user has signed out")
    guard !record.mayBeGone else { return }
    world.check(!view.isPaused || view.prepared.contains(record.id), "\(who) during a pause")
    changeView(client) { $0.prepared.remove(record.id) }
    let contents = await contents(of: errand.owner)
    note(contents)
    guard let stored = contents.entries.first(where: { $0.id == record.id }),
      let entry = try? OutboxEntry(decoding: stored)
    else { return world.check(false, "\(who), which is not in the store") }
    judge(request, body, entry, contents.identities, who)
    let lease = contents.leases[entry.id]
    let isLeased = lease.map { $0.process == view.process && $0.until > world.clock.wallClock() } ?? false
    // No other process has what is in memory.
    let needsLease = !traits.setsClock && traits.storage != .memory
    world.check(isLeased || !needsLease, "\(who) without a lease: \(String(describing: lease))")
    for other in contents.entries where other.number < stored.number && other.lane == stored.lane {
      guard let earlier = try? OutboxEntry(decoding: other), earlier.hasPlace else { continue }
      // What another process has added is known from then on, but a request may be on its way.
      guard view.phases[earlier.id]?.isShown == true, view.known[record.id]?.contains(earlier.id) == true else {
        continue
      }
      // An entry that waits for an entry behind it is sent after that one.
      let card = self.record(earlier.id)?.errand.card
      let awaited = card.flatMap { creator(of: $0) }
      let place = contents.entries.first { $0.id == awaited?.id }?.number ?? 0
      if place > other.number { continue }
      world.check(
        false, "\(who) before \(name(earlier.id)), which is earlier in the lane \(entry.lane), and \(earlier.state)")
    }
  }

  private func judge(
    _ request: HTTPRequest, _ body: Data?, _ entry: OutboxEntry, _ identities: [String: Data], _ who: String
  ) {
    // Where the clock ends a lease early, the process that had it may save its own end last. What
    // counts is that a reader of the entry knows that it may have been sent.
    let isSaved = entry.state == .sending || (traits.setsClock && (entry.state == .unknown || entry.attempts > 0))
    world.check(isSaved, "\(who), which is saved as \(entry.state)")
    let path = request.path ?? ""
    if path.contains("tmp-") || path.contains("/-") {
      // A process that begins, or another one, does not know that the entry with the id was refused
      // or discarded. An entry that was accepted without the id has left a note in the store, which
      // another process reads late.
      let card = record(of: request.headerFields[.mark].flatMap(Int.init) ?? 0)?.errand.card
      let id = card.flatMap { identities[$0.string] }
      let isGiven = id.map { !traits.isShared || $0 != NotedStorage.lost } ?? false
      // Nor does it know of a creator that the store has refused.
      let isSaved = card.flatMap { creator(of: $0) }?.isAcknowledged != false
      world.check(
        !isGiven && (traits.endsEarly || traits.runsOlder || !isSaved), "\(who), with a temporary id: \(path)")
    }
    // Nor does a lease that the clock has ended keep the other process from saving the request that
    // it has prepared.
    let key = request.headerFields[.idempotencyKeyField]
    world.check(
      entry.request?.isKeyed != true || key == entry.idempotencyKey || (traits.setsClock && traits.isShared),
      "\(who) under another key than the saved one")
    let form = record(entry.id).flatMap { server.forms.value[$0.errand.mark] }
    let bytes = (entry.request?.hasForm == true ? form : entry.request?.body) ?? Data()
    let saved = entry.request.map { "\($0.method) \($0.url) \(String(decoding: bytes, as: UTF8.self))" } ?? "nothing"
    let sent = "\(request.method) \(request.absoluteURLText) \(String(decoding: body ?? Data(), as: UTF8.self))"
    world.check(saved == sent, "\(who): \(sent), and saved is \(saved)")
    guard let key else { return }
    let text = "\(sent) \(request.headerFields[.ifMatch] ?? "")"
    let first = payload(under: key, orNote: text)
    world.check(first == text, "\(who): two payloads under one key: \(first), \(text)")
  }

  /// Records the places of the entries in the store.
  func note(_ contents: OutboxContents) {
    for entry in contents.entries { change(entry.id) { $0.number = entry.number } }
  }
}

extension HTTPRequest {
  fileprivate var absoluteURLText: String { "\(scheme ?? "")://\(authority ?? "")\(path ?? "")" }
}
