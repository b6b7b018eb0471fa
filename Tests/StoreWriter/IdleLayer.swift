import Foundation
import HTTPTypes
import ReactorCore
import ReactorLists
import ReactorOutbox
import ReactorTesting
import Synchronization
import TestSupport

/// A layer that waits with streams, lists and writes in three lanes.
///
/// Arguments: `idle` and the case. On standard output: the milliseconds of processor time that the
/// process takes in a second and a half.
struct IdleLayer {
  private let layer: ModelLayer
  private let url: URL
  private let store: FullStore?

  static func run(_ which: IdleCase) async throws -> Int {
    try await MockServer.run { request in
      request.method == "GET"
        ? .text(#"["a"]"#, fields: [("Cache-Control", "no-store"), ("Link", "</page>; rel=\"next\"")]) : .status(503)
    } body: { server in
      try await IdleLayer(which, server.url).processorTime()
    }
  }

  private init(_ which: IdleCase, _ server: URL) {
    let other: String? =
      switch which {
      // Reachability says nothing of a loopback host, and nothing is sent to this one.
      case .offline, .never: "https://api.example.com"
      // Nothing listens at this port.
      case .refused: "http://127.0.0.1:1"
      case .silent, .fullDisk, .lists: nil
      }
    url = other.flatMap { URL(string: $0) } ?? server
    store = which == .fullDisk ? FullStore() : nil
    let reachability: any Reachability =
      switch which {
      case .offline: ScriptedReachability(false)
      case .never: .never
      default: .always
      }
    let transport: any Transport = which == .silent ? Silent() : URLSessionTransport()
    var outbox = OutboxConfiguration()
    if let store { outbox.storage = store }
    if which == .refused { outbox.retry.firstDelay = .zero }
    layer = ModelLayer(
      backend: Backend(baseURL: url, transport: transport, reachability: reachability),
      persistence: which == .fullDisk ? FullDisk() : nil, extensions: [.outbox(outbox)])
  }

  private func processorTime() async throws -> Int {
    for number in 0..<6 {
      let request = OutboxRequest(url: url.appending(path: "posts/\(number)"), body: Data("b".utf8))
      try await layer.submit(request, lane: Lane(rawValue: "\(number % 3)"))
    }
    store?.isFull.store(true, ordering: .relaxed)
    let names = layer.reactor([String].self)
    return try await withThrowingTaskGroup(of: Void.self) { group in
      for path in ["list", "other"] {
        let states = names.states(for: Resource(path))
        group.addTask { for await _ in states {} }
      }
      for _ in 0..<2 {
        let list = names.pages(from: "list")
        group.addTask { for await _ in list.states {} }
      }
      let entries = layer.outbox.states
      group.addTask { for await _ in entries {} }
      // At the start, a layer is not idle.
      try await Task.sleep(for: .milliseconds(800))
      let start = try Self.spent()
      try await Task.sleep(for: .milliseconds(1_500))
      let spent = try Self.spent() - start
      group.cancelAll()
      return spent
    }
  }

  /// The processor time of this process in milliseconds.
  private static func spent() throws -> Int {
    var time = timespec()
    guard clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { throw POSIXError(.EINVAL) }
    return time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
  }
}

/// A server that never answers. On Linux, URLSession itself takes a part of a processor while it
/// waits for one.
private struct Silent: Transport {
  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    try await Task.sleep(for: .seconds(3_600))
    throw CancellationError()
  }
}

/// An outbox's store on a disk that becomes full.
private final class FullStore: OutboxStorage {
  let isFull = Atomic(false)
  private let store = MemoryOutboxStorage()

  private func check() throws {
    if isFull.load(ordering: .relaxed) { throw CocoaError(.fileWriteOutOfSpace) }
  }

  func contents(of scope: Scope) async throws -> OutboxContents { try await store.contents(of: scope) }
  func commit(_ changes: [OutboxChange], in scope: Scope) async throws -> [UInt64] {
    try check()
    return try await store.commit(changes, in: scope)
  }
  func claim(_ id: UUID, in scope: Scope, by process: UUID, now: Date, until: Date) async throws -> StoredEntry? {
    try check()
    return try await store.claim(id, in: scope, by: process, now: now, until: until)
  }
  func release(_ id: UUID, in scope: Scope, by process: UUID) async throws { try check() }
  func removeAll(in scope: Scope?) async throws { try check() }
}

/// A store of records that takes none.
private struct FullDisk: Persistence {
  private let base = MemoryPersistence()

  func load(_ key: RecordKey) async throws -> Record? { try await base.load(key) }
  func save(_ record: Record, for key: RecordKey) async throws { throw CocoaError(.fileWriteOutOfSpace) }
  func remove(_ key: RecordKey) async throws { throw CocoaError(.fileWriteOutOfSpace) }
  func removeAll(in scope: Scope?) async throws { throw CocoaError(.fileWriteOutOfSpace) }
  func entries(in scope: Scope?, url: String?) async throws -> [Record.Entry] {
    try await base.entries(in: scope, url: url)
  }
}
