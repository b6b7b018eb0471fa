import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox
import ReactorSQLite
import Synchronization

/// The cost of a write: until it is shown and saved, until thousands of them are sent, and at the
/// next start.
enum Submit: Benchmark {
  static let name = "submit"
  static let question = "a mutation that is shown and saved, drained, and read at the next start"

  static func measure(_ bench: Bench) async throws {
    let memory = try await Outboxes(MemoryOutboxStorage())
    // The limit does next to nothing, so that the difference is the whole cost.
    let list = Mutex<[Int]>([])
    try await bench.compare(
      "submit, memory", to: "appending to a locked array", target: .nanosecondsMore(20_000), job: memory.submitting
    ) { count in
      for index in 0..<count {
        list.withLock { list in
          if list.count > 1_000 { list = [] }
          list.append(index)
        }
      }
    }
    let directory = try TemporaryDirectory()
    let sqlite = try await Outboxes(SQLiteOutboxStorage(path: directory.path("outbox.sqlite")))
    let raw = try RawSQLite(directory.path("raw.sqlite"))
    try raw.execute("PRAGMA synchronous = FULL")
    let bytes = Data(repeating: 7, count: 300)
    var place = 0
    try await bench.compare(
      "submit, SQLite", to: "a fully synchronized insert", target: .ratio(1.5), clock: .elapsed, job: sqlite.submitting
    ) { count in
      for _ in 0..<count {
        place += 1
        try raw.save("\(place)", head: Data(), body: bytes)
      }
    }
    try await measureStart(bench, directory)
  }

  private static func measureStart(_ bench: Bench, _ directory: TemporaryDirectory) async throws {
    let path = directory.path("full.sqlite")
    let full = try await Outboxes(SQLiteOutboxStorage(path: path))
    try await full.fill(10_000)
    let starting: Work = { count in
      for _ in 0..<count {
        let next = try await Outboxes(SQLiteOutboxStorage(path: path))
        try expect(next.layer.outbox.entries.count == 10_000, "all entries are read")
      }
    }
    try await bench.compare(
      "10,000 entries read at start", to: "a locked array of as many", target: .nanosecondsMore(100_000_000),
      job: starting
    ) { count in
      for _ in 0..<count {
        let list = Mutex<[Int]>([])
        for index in 0..<10_000 { list.withLock { $0.append(index) } }
        blackHole(list.withLock(\.self))
      }
    }
    // The difference is the library's work on an entry: its bytes are checked, its mutation is
    // decoded, and its drafts are shown.
    try await bench.compare(
      "10,000 entries read at start", to: "a plain read of the same rows", target: nil, job: starting
    ) { count in
      for _ in 0..<count {
        let rows = try RawSQLite.rows(of: "SELECT bytes, number, id, lane FROM outbox_entry ORDER BY number", in: path)
        try expect(rows.count == 10_000, "all rows are read")
        blackHole(rows)
      }
    }
  }

  static func grow(_ growth: Growth) async throws {
    try await growth.curve(
      "submit and drain, each", of: "entries of one list", sizes: [500, 2_000, 10_000], operations: { $0 }
    ) { size in
      { count in
        for _ in 0..<count {
          let outboxes = try await Outboxes(MemoryOutboxStorage())
          try await outboxes.fill(size)
          outboxes.layer.outbox.resume()
          let left = await outboxes.layer.outbox.drain(within: .seconds(600))
          try expect(left == 0, "everything is sent")
        }
      }
    }
  }
}

/// A layer with a list in memory, and an outbox that is paused.
private struct Outboxes: Sendable {
  let layer: ModelLayer
  let list: Reactor<[Int]>
  private let count = Shared()

  init(_ storage: any OutboxStorage) async throws {
    var outbox = OutboxConfiguration(storage: storage, mutations: [AddNumber.self])
    outbox.concurrentLanes = 1
    let url = URL(string: "http://127.0.0.1:9/") ?? URL(filePath: "/")
    layer = ModelLayer(
      baseURL: url, transport: Accepting(), reachability: .always, extensions: [.outbox(outbox)])
    layer.outbox.pause()
    list = layer.reactor()
    _ = try await list.fetch("numbers")
    for await _ in layer.outbox.states { break }
  }

  func fill(_ size: Int) async throws {
    for number in 0..<size { try await layer.submit(AddNumber(number: number)) }
  }

  /// Submits, and begins again before an outbox is full.
  var submitting: Work {
    { iterations in
      for _ in 0..<iterations {
        let number = count.next()
        if number % 1_000 == 0 {
          try await layer.removeAll()
          _ = try await list.fetch("numbers")
        }
        try await layer.submit(AddNumber(number: number))
      }
    }
  }
}

private final class Shared: Sendable {
  private let number = Atomic(0)

  func next() -> Int { number.wrappingAdd(1, ordering: .relaxed).newValue }
}

private struct AddNumber: Mutation {
  var number: Int

  func request(_ known: Known) throws -> Resource { try Resource("numbers", method: .post, json: number) }

  func draft(_ drafts: inout Drafts) {
    drafts.change([Int].self, at: "numbers") { [number] in if $0.last != number { $0.append(number) } }
  }
}

/// Accepts every write, and has one list.
private struct Accepting: Transport {
  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    request.method == .get
      ? (HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=3600"]), Data("[1,2,3]".utf8))
      : (HTTPResponse(status: .noContent), Data())
  }
}
