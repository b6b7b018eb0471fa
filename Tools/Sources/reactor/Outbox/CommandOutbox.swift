import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox
import ReactorSQLite
import Synchronization

/// The outbox at a given path, through a layer that sends only while it drains.
struct CommandOutbox: Sendable {
  let layer: ModelLayer
  private let failures = StoreFailures()

  /// Opens the outbox. A database is created, a directory is not.
  ///
  /// - Parameter timeout: The limit for each attempt.
  /// - Throws: The error of a database that cannot be opened.
  init(_ argument: StoreArgument, timeout: Duration = .seconds(60)) throws {
    switch argument.kind {
    case .directory: self.init(FileOutboxStorage(directory: argument.directory), timeout: timeout)
    case .database: self.init(try SQLiteOutboxStorage(path: argument.path), timeout: timeout)
    }
  }

  init(_ storage: any OutboxStorage, timeout: Duration = .seconds(60)) {
    var outbox = OutboxConfiguration(storage: storage, mutations: [])
    outbox.sendsByItself = false
    // The requests have absolute URLs, so nothing is relative to the base.
    layer = ModelLayer(
      baseURL: URL(filePath: "/"), transport: OutboxTransport(timeout: timeout), reachability: .always, outbox: outbox)
    layer.observeEvents(for: failures) { failures, event in failures.note(event) }
  }

  var outbox: Outbox { layer.outbox }

  /// The entries that have not ended.
  var pending: [Outbox.Entry] { outbox.entries.filter(\.state.isPending) }

  func entry(_ id: Outbox.Entry.ID) -> Outbox.Entry? { outbox.entries.first { $0.id == id } }

  /// Returns the latest failure of the store; `nil` if there was none.
  func failure() async -> ReactorError? {
    await layer.flushEvents()
    return failures.latest
  }

  /// Reads the store, and writes a line to standard error for each part of it that was damaged and
  /// set aside. A process gets each line once.
  ///
  /// - Throws: The error of a store that cannot be read.
  func reload() async throws(ReactorError) {
    try await outbox.reload()
    await layer.flushEvents()
    for reason in failures.takeSetAside(besides: Set(outbox.entries.map(\.id))) {
      StandardStream.error.writeLine("reactor: \(TraceLine.oneLine(reason))")
    }
  }

  /// A Boolean value that indicates whether ``reload()`` has found a part that was set aside.
  var isDamaged: Bool { failures.isDamaged }
}

extension Outbox.Entry.State {
  /// A Boolean value that indicates whether the entry may be sent yet.
  var isPending: Bool {
    switch self {
    case .waiting, .sending, .unknown, .conflicted: true
    case .refused, .unresolved, .unreadable: false
    @unknown default: false
    }
  }
}

/// The events that say that a store has failed, or has something that cannot be read.
private final class StoreFailures: Sendable {
  private struct State {
    var latest: ReactorError?
    /// The entries and parts that could not be read, and were not reported yet.
    var unreadable: [(id: UUID, reason: String)] = []
    var isDamaged = false
  }

  private let state = Mutex(State())

  var latest: ReactorError? { state.withLock(\.latest) }
  var isDamaged: Bool { state.withLock(\.isDamaged) }

  /// Takes out the parts of the store that were set aside, which are no entries.
  func takeSetAside(besides entries: Set<UUID>) -> [String] {
    state.withLock { state in
      defer { state.unreadable = [] }
      let setAside = state.unreadable.filter { !entries.contains($0.id) }.map(\.reason)
      if !setAside.isEmpty { state.isDamaged = true }
      return setAside
    }
  }

  func note(_ event: ReactorEvent) {
    guard case .outbox(let id, let step) = event.kind else { return }
    switch step {
    case .storeFailed(let error): state.withLock { $0.latest = error }
    case .unreadable(let reason): state.withLock { $0.unreadable.append((id, reason)) }
    default: break
    }
  }
}
