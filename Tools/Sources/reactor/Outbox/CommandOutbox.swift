import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox
import ReactorSQLite
import Synchronization

/// The outbox at a given path, through a layer that sends only while it drains.
struct CommandOutbox: Sendable {
  let layer: ModelLayer
  private let transport: OutboxTransport
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
    transport = OutboxTransport(timeout: timeout)
    // The requests have absolute URLs, so nothing is relative to the base.
    layer = ModelLayer(
      baseURL: URL(filePath: "/"), transport: transport, reachability: .always, extensions: [.outbox(outbox)])
    layer.observeEvents(for: failures) { failures, event in failures.note(event) }
  }

  var outbox: Outbox { layer.outbox }

  /// The entries that have not ended.
  var pending: [Outbox.Entry] { outbox.entries.filter(\.state.isPending) }

  /// The entries that have ended, and were not accepted.
  var failed: [Outbox.Entry] {
    outbox.entries.filter { entry in
      switch entry.state {
      case .refused, .unresolved: true
      default: false
      }
    }
  }

  func entry(_ id: Outbox.Entry.ID) -> Outbox.Entry? { outbox.entries.first { $0.id == id } }

  /// Returns the latest failure of the store; `nil` if the store has not failed.
  func failure() async -> ReactorError? {
    await layer.flushEvents()
    return failures.latest
  }

  /// Adds a credential to the requests from now on.
  func use(_ credential: OutboxCredential?) { transport.use(credential) }

  /// A Boolean value that indicates whether an entry waits for a sign-in.
  var needsSignIn: Bool {
    pending.contains { entry in
      switch entry.state {
      case .waiting(.signIn), .unknown(.signIn): true
      default: false
      }
    }
  }

  /// Reads the store, and takes over other processes' changes.
  ///
  /// - Throws: The error of a store that cannot be read.
  func reload() async throws(ReactorError) { try await outbox.reload() }

  /// Writes a line to standard error for each part of the store that was damaged and set aside.
  func reportSetAside() {
    for reason in outbox.setAside { StandardStream.error.writeLine("reactor: \(TraceLine.oneLine(reason))") }
  }
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

/// The latest event that says that the store has failed.
private final class StoreFailures: Sendable {
  private let state = Mutex(ReactorError?.none)

  var latest: ReactorError? { state.withLock(\.self) }

  func note(_ event: ReactorEvent) {
    guard case .outbox(_, .storeFailed(let error)) = event.kind else { return }
    state.withLock { $0 = error }
  }
}
