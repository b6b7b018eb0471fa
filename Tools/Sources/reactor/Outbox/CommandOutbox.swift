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

  /// The latest failure of the store; `nil` if there was none.
  var failure: ReactorError? { failures.latest }

  /// The parts of the store that were set aside.
  var setAside: [String] { failures.unreadable.filter { entry($0.id) == nil }.map(\.reason) }
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
    var unreadable: [(id: UUID, reason: String)] = []
  }

  private let state = Mutex(State())

  var latest: ReactorError? { state.withLock(\.latest) }
  var unreadable: [(id: UUID, reason: String)] { state.withLock(\.unreadable) }

  func note(_ event: ReactorEvent) {
    guard case .outbox(let id, let step) = event.kind else { return }
    switch step {
    case .storeFailed(let error): state.withLock { $0.latest = error }
    case .unreadable(let reason): state.withLock { $0.unreadable.append((id, reason)) }
    default: break
    }
  }
}
