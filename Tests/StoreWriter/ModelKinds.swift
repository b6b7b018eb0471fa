import Foundation
import ReactorCore
import TestSupport

private struct Private: Codable, Equatable, Sendable { var text: String }
fileprivate struct FilePrivate: Codable, Equatable, Sendable { var text: String }
struct Internal: Codable, Equatable, Sendable { var text: String }
struct Box<Content: Codable & Equatable & Sendable>: Codable, Equatable, Sendable { var content: Content }

private enum Outer {
  struct Nested: Codable, Equatable, Sendable { var text: String }
  enum Inner {
    struct Deep: Codable, Equatable, Sendable { var text: String }
  }
}

private struct PrivateMapped: Mappable, Equatable {
  var text: String
  static func mapToModel(_ json: JSONValue) throws -> PrivateMapped { PrivateMapped(text: try json.string("text")) }
  func mapToJSON() -> JSONValue { ["text": .string(text)] }
}

/// Models of every kind of type, written by one process and read by the next.
///
/// Arguments: `models`, the store's directory, and `write` or `read`. On standard output, a line
/// for each kind: its name, and `lost` where a local write was not found or a stored model was made
/// again.
struct ModelKinds {
  let layer: ModelLayer
  let directory: URL

  static func run(_ path: String, writes: Bool) async throws -> [String] {
    guard let url = URL(string: "http://localhost") else { return [] }
    let directory = URL(filePath: path)
    let persistence = FilePersistence(directory: directory.appending(path: "layer"))
    let kinds = ModelKinds(layer: ModelLayer(baseURL: url, persistence: persistence), directory: directory)
    return try await kinds.lines(writes: writes)
  }

  private func lines(writes: Bool) async throws -> [String] {
    struct Local: Codable, Equatable, Sendable { var text: String }
    return [
      try await line("internal", Internal(text: "mine"), writes),
      try await line("private", Private(text: "mine"), writes),
      try await line("fileprivate", FilePrivate(text: "mine"), writes),
      try await line("local", Local(text: "mine"), writes),
      try await line("nested", Outer.Nested(text: "mine"), writes),
      try await line("nested-deep", Outer.Inner.Deep(text: "mine"), writes),
      try await line("mapped", PrivateMapped(text: "mine"), writes),
      try await line("array", [Private(text: "mine")], writes),
      try await line("optional", Private?.some(Private(text: "mine")), writes),
      try await line("dictionary", ["a": Private(text: "mine")], writes),
      try await line("generic", Box(content: Private(text: "mine")), writes),
      try await line("generic-local", Box(content: [Box(content: Local(text: "mine"))]), writes),
      try await line("text", "mine", writes), try await line("bytes", Data("mine".utf8), writes),
      try await line("number", 7, writes), try await line("secret?password=hunter2", "mine", writes),
    ]
  }

  private func line<Model: Equatable & Sendable>(_ name: String, _ model: Model, _ writes: Bool) async throws -> String
  {
    let resource = Resource(name)
    let local = layer.reactor(Model.self)
    if writes { try await local.save(model, for: resource) }
    let found = try? await local.fetch(resource, policy: .cacheOnly)
    let made = Counter()
    let typed = Reactor(
      flow: ReactorFlow<Model>.persisted(in: FilePersistence(directory: directory.appending(path: "typed"))) { _ in
        await made.add()
        return model
      })
    let fetched = try await typed.fetch(resource)
    let count = await made.count
    let isKept = found == model && fetched == model && count == (writes ? 1 : 0)
    return "\(name) \(isKept ? "kept" : "lost")"
  }
}

private actor Counter {
  private(set) var count = 0
  func add() { count += 1 }
}
