import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorTesting
import Synchronization

/// The lists, and each version that they have had.
final class NumberServer: Sendable {
  private struct State {
    var lists: [String: Writers.Numbers] = [:]
    var history: [String: Set<Writers.Numbers>] = [:]
    var versions: [String: [Int: Set<Int>]] = [:]
    var others = 1_000_000
  }

  private let world: SimulatedWorld
  private let state = Mutex(State())

  private let isUnstored: Bool

  init(_ world: SimulatedWorld, isUnstored: Bool) {
    self.world = world
    self.isUnstored = isUnstored
    for path in Writers.paths { change(path) { _ in } }
  }

  func list(_ path: String) -> Writers.Numbers {
    state.withLock { $0.lists[path] } ?? Writers.Numbers(version: 0, numbers: [])
  }

  /// Returns the numbers of a list at a version.
  func numbers(_ version: Int, of path: String) -> Set<Int> { state.withLock { $0.versions[path]?[version] ?? [] } }

  func hasHad(_ list: Writers.Numbers, _ url: String) -> Bool {
    state.withLock { state in state.history.contains { url.hasSuffix($0.key) && $0.value.contains(list) } }
  }

  /// Somebody else inserts a number.
  func changeByOthers(_ path: String) {
    let number = state.withLock { state in
      state.others += 1
      return state.others
    }
    change(path) { $0.append(number) }
  }

  private func change(_ path: String, _ body: (inout [Int]) -> Void) {
    state.withLock { state in
      var list = state.lists[path] ?? Writers.Numbers(version: 0, numbers: [])
      body(&list.numbers)
      list.version += 1
      state.lists[path] = list
      state.history[path, default: []].insert(list)
      state.versions[path, default: [:]][list.version] = Set(list.numbers)
    }
  }

  func answer(_ request: HTTPRequest, _ body: Data?) -> (HTTPResponse, Data) {
    let parts = (request.path ?? "").split(separator: "/")
    let path = "/\(parts.first ?? "")"
    guard request.method != .get else { return answerRead(request, path) }
    guard parts.count == 2, let number = Int(parts[1]) else { return (HTTPResponse(status: .badRequest), Data()) }
    world.note("the server gets \(request.method.rawValue) \(number) of \(path)")
    guard number % 7 != 0 else { return (HTTPResponse(status: .unprocessableContent), Data()) }
    change(path) { numbers in
      numbers.removeAll { $0 == number }
      if request.method == .put { numbers.append(number) }
    }
    return (HTTPResponse(status: .noContent), Data())
  }

  private func answerRead(_ request: HTTPRequest, _ path: String) -> (HTTPResponse, Data) {
    let list = list(path)
    let fields: HTTPFields = [.cacheControl: isUnstored ? "no-store" : "max-age=5", .eTag: "\"\(list.version)\""]
    world.note("the server answers \(path): \(list.version) \(list.numbers)")
    if request.headerFields[.ifNoneMatch] == fields[.eTag] {
      return (HTTPResponse(status: .notModified, headerFields: fields), Data())
    }
    return (HTTPResponse(status: .ok, headerFields: fields), (try? JSONEncoder().encode(list)) ?? Data())
  }
}
