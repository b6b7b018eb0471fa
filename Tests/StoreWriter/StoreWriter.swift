import Foundation
import ReactorCore
import ReactorSQLite
import ReactorTesting
import TestSupport

/// Saves records for ever, and says of each that it is stored; made to be killed.
///
/// Arguments: engine, path, seed, run, and which of how many shares of the keys is its own. It
/// begins when there is a byte on standard input. On standard output: `open`, then a line of key
/// and version for each save that has returned.
///
/// With `models` as its first argument it is ``ModelKinds``, with `idle` ``IdleLayer``, with
/// `suspended` ``SuspendedStores``, and with `live-server` or `live-client` ``LiveServer`` or
/// ``LiveClient``.
@main struct StoreWriter {
  static let taskCount = 4

  static func main() async throws {
    let arguments = CommandLine.arguments
    if arguments.count == 4, arguments[1] == "models" {
      return try await ModelKinds.run(arguments[2], writes: arguments[3] == "write").forEach(say)
    }
    #if SQLite
      if arguments.count == 3, arguments[1] == "suspended" { return try await SuspendedStores.run(arguments[2]) }
    #endif
    if arguments.count == 3, arguments[1] == "idle", let which = IdleCase(rawValue: arguments[2]) {
      return say("\(try await IdleLayer.run(which))")
    }
    if arguments.count == 5, arguments[1] == "live-server", let port = Int(arguments[3]),
      let seed = UInt64(arguments[4])
    {
      return try LiveServer.run(arguments[2], port: port, seed: seed)
    }
    if arguments.count == 4, arguments[1] == "live-client" {
      return try await LiveClient.run(arguments[2], arguments[3])
    }
    guard arguments.count == 7, let engine = WriterEngine(rawValue: arguments[1]), let seed = UInt64(arguments[3]),
      let run = Int(arguments[4]), let part = Int(arguments[5]), let parts = Int(arguments[6]), part < parts
    else {
      say("usage: StoreWriter ENGINE PATH SEED RUN PART PARTS")
      exit(64)
    }
    var byte: UInt8 = 0
    guard read(STDIN_FILENO, &byte, 1) == 1 else { exit(0) }
    say("open")
    let store = try open(engine, arguments[2])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in (part * taskCount)..<((part + 1) * taskCount) {
        group.addTask { try await write(to: store, task, of: parts * taskCount, run: run, seed: seed) }
      }
      try await group.waitForAll()
    }
  }

  private static func open(_ engine: WriterEngine, _ path: String) throws -> any Persistence {
    switch engine {
    case .files: return FilePersistence(directory: URL(filePath: path))
    case .filesFull: return FilePersistence(directory: URL(filePath: path), synchronization: .full)
    #if SQLite
      case .sqlite: return try SQLitePersistence(path: path)
      case .sqliteFull: return try SQLitePersistence(path: path, synchronization: .full)
    #else
      case .sqlite, .sqliteFull:
        say("built without SQLite")
        exit(69)
    #endif
    }
  }

  /// Each task has its own keys, so that the versions of one key are saved in their order.
  private static func write(to store: any Persistence, _ task: Int, of tasks: Int, run: Int, seed: UInt64) async throws
  {
    var generator = SeededGenerator(seed: seed &+ UInt64(task))
    var version = run << 20
    while true {
      version += 1
      let number = Int.random(in: 0..<(WrittenRecord.keyCount / tasks), using: &generator) * tasks + task
      let written = WrittenRecord(number: number, version: version)
      try await store.save(written.record, for: written.key)
      say("\(number) \(version)")
    }
  }

  /// One call of the system: a line is there whole, or not at all.
  static func say(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    if Foundation.write(STDOUT_FILENO, bytes, bytes.count) != bytes.count { exit(74) }
  }
}
