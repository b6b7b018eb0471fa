import Foundation
import ReactorCore
import ReactorLive
import TestSupport

/// A layer that follows the changes of ``LiveServer``, with its copies on disk; made to be killed.
///
/// Arguments: `live-client`, the server's URL, and the directory of the copies. On standard output:
/// a line of number and count for each value that a screen shows, and `older` with both counts if
/// it shows an older one than before. A byte on standard input fetches what no screen shows; its
/// lines are as those of the others, and then `fetched`.
struct LiveClient {
  private let layer: ModelLayer
  private let counts: Reactor<LiveCount>

  static func run(_ url: String, _ directory: String) async throws {
    guard let url = URL(string: url) else { exit(64) }
    try await LiveClient(url, directory).follow()
  }

  private init(_ url: URL, _ directory: String) {
    layer = ModelLayer(
      baseURL: url, persistence: FilePersistence(directory: URL(filePath: directory)),
      extensions: [.live("events")])
    counts = layer.reactor(LiveCount.self)
  }

  private func follow() async throws {
    await withDiscardingTaskGroup { group in
      for number in LiveCounts.observed { group.addTask { await show(number) } }
      group.addTask { await fetchOthers() }
      if let statuses = layer.live?.statuses {
        group.addTask { for await status in statuses { StoreWriter.say("status \(status)") } }
      }
    }
  }

  private func show(_ number: Int) async {
    var shown: Int?
    for await state in counts.states(for: Resource(LiveCounts.path(number))) {
      guard let count = state.value?.count, count != shown else { continue }
      if let shown, count < shown { StoreWriter.say("older \(number) \(shown) \(count)") }
      shown = count
      StoreWriter.say("\(number) \(count)")
    }
  }

  /// Fetches with the policy of a screen that opens: a copy is served if it is fresh.
  private func fetchOthers() async {
    let (commands, continuation) = AsyncStream.makeStream(of: Void.self)
    Thread.detachNewThread {
      var byte: UInt8 = 0
      while read(STDIN_FILENO, &byte, 1) == 1 { continuation.yield() }
      exit(0)
    }
    for await _ in commands {
      for number in LiveCounts.unobserved {
        do throws(ReactorError) {
          StoreWriter.say("\(number) \(try await counts.fetch(Resource(LiveCounts.path(number))).count)")
        } catch { StoreWriter.say("failed \(number) \(error)".replacingOccurrences(of: "\n", with: " ")) }
      }
      StoreWriter.say("fetched")
    }
  }
}
