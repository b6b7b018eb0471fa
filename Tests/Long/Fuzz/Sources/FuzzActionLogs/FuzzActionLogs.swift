import Foundation
import FuzzSupport

@testable import ReactorFlux

/// A log is read as it was written, and replays to the same state.
@c(LLVMFuzzerTestOneInput) public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let data = Input(start, count).data
  // libFuzzer calls this on the main thread.
  MainActor.assumeIsolated { checkLog(data) }
  return 0
}

@MainActor private func checkLog(_ data: Data) {
  guard let (log, state) = replayed(data) else { return }
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  let written: Data
  do { written = try encoder.encode(log) } catch FluxError.notCodable {
    check(log.actions.contains { $0.payload is LoggedAction.Unknown }, "a known payload is not written")
    return
  } catch { violated("not written: \(error)") }
  guard let again = replayed(written) else { violated("not read again") }
  check(succeed("not written again") { try encoder.encode(again.log) } == written, "two texts of one log")
  check(again.state == state, "\(again.state ?? []) after \(state ?? [])")
  check(again.log.actions.map(\.name) == log.actions.map(\.name), "other actions")
}

/// The log that `data` holds, and the state that it gives; `nil` if `data` is not a log.
@MainActor private func replayed(_ data: Data) -> (log: ActionLog, state: [String]?)? {
  let dispatcher = Dispatcher()
  succeed("not registered") { try dispatcher.register(Heard.self) }
  dispatcher.onFailure = { violated("a handler failed: \($0)") }
  let decoder = JSONDecoder()
  decoder.userInfo = dispatcher.decodingInfo
  do {
    let log = try decoder.decode(ActionLog.self, from: data)
    do throws(FluxError) { try dispatcher.replay(log) } catch {
      switch error {
      case .missingStores, .emptyName: return (log, nil)
      default: violated("not replayed: \(error)")
      }
    }
    let store = succeed("no store") { try dispatcher.store(Heard.self) }
    check(store.lines.count <= log.actions.count, "more than was in the log")
    return (log, store.lines)
  } catch let error as FluxError {
    guard case .unsupportedLogVersion = error else { violated("\(error)") }
  } catch { check(error is DecodingError, "\(error)") }
  return nil
}

private struct Entry: Codable, Hashable {
  var title: String
  var amounts: [Int]
  var nested: [String: [Double?]]?
}

/// Remembers what it was told.
private final class Heard: PlainStore {
  let context = StoreContext()
  private(set) var lines: [String] = []

  static let handlers: [ActionHandler<Heard>] = [
    .on(Event<Void>("cleared")) { store, action in store.lines.append("cleared \(text(action.error))") },
    .on(Event<String?>("noted")) { store, action in
      store.lines.append("\(String(describing: action.payload)) \(text(action.error))")
    },
    .on(Event<Int>("counted")) { store, action in
      store.lines.append("\(action.payload ?? 0) \(text(action.error))")
    },
    .on(Event<Entry>("added")) { store, action in
      store.lines.append("\(action.payload?.title ?? "") \(action.payload?.amounts ?? []) \(text(action.error))")
    },
  ]

  private static func text(_ error: (any Error)?) -> String { error.map { "\($0)" } ?? "" }
}
