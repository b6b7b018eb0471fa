import ReactorCore
import ReactorTesting
import ReactorWrites
import Synchronization
import TestSupport
import Testing

/// A program's own code that reads the value which it helps to compute.
@Suite("A draft that reads its own resource", .timeLimit(.minutes(5)))
struct SelfReadingDraftTests {
  /// Adds a draft that appends what `read` returns, and a name.
  private func begin(
    _ name: String, on desk: NotesDesk, count: Int, _ read: @escaping @Sendable () -> [String]?
  ) async throws -> (Task<Void, any Error>, Gate) {
    let gate = Gate()
    desk.bench.transport.answer("/v1/\(name)", with: .accepted.held(at: gate))
    let task = Task { [notes = desk.notes, list = desk.list] in
      try await notes.mutate(list, by: Resource(name, method: .post)) { value in
        value.append("\(name):\(read()?.count ?? -1)")
      }
    }
    try await desk.bench.log.wait(for: .drafted, count: count)
    return (task, gate)
  }

  @Test func `a draft that reads its own resource gets the base from cached, and from the current state`() async throws
  {
    let desk = try await NotesDesk()
    let (notes, list) = (desk.notes, desk.list)
    let (first, one) = try await begin("b", on: desk, count: 1) { notes.cached(list) }
    #expect(desk.shown == ["a", "b:1"])
    let (second, other) = try await begin("c", on: desk, count: 2) { notes.states(for: list).current.value }
    #expect(desk.shown == ["a", "b:1", "c:2"])
    #expect(notes.states(for: list).current.value == ["a", "b:1", "c:2"])
    #expect(desk.confirmed == ["a"])
    desk.bench.transport.answer("/v1/list", with: NotesDesk.answer(["x", "y"]))
    one.open()
    other.open()
    try await first.value
    try await second.value
    #expect(try await notes.fetchFromNetwork(list) == ["x", "y"])
  }

  @Test func `each of many drafts reads the ones beneath, and runs once`() async throws {
    let desk = try await NotesDesk()
    let (notes, list) = (desk.notes, desk.list)
    let runs = Shared(0)
    var tasks: [Task<Void, any Error>] = []
    for number in 1...20 {
      let (task, gate) = try await begin("n\(number)", on: desk, count: number) {
        runs.change { $0 += 1 }
        return notes.cached(list)
      }
      tasks.append(task)
      _ = gate
    }
    #expect(desk.shown == ["a"] + (1...20).map { "n\($0):\($0)" })
    #expect(runs.value <= 40)
    for task in tasks { task.cancel() }
    for task in tasks { _ = try? await task.value }
    #expect(desk.shown == ["a"])
  }

  @Test func `two drafts of two resources that read each other end`() async throws {
    let desk = try await NotesDesk()
    let (notes, list, other) = (desk.notes, desk.list, Resource("other"))
    desk.bench.transport.answer("/v1/other", with: NotesDesk.answer(["o"]))
    _ = try await notes.fetch(other)
    let (first, one) = try await begin("b", on: desk, count: 1) { notes.cached(other) }
    let gate = Gate()
    desk.bench.transport.answer("/v1/c", with: .accepted.held(at: gate))
    let second = Task {
      try await notes.mutate(other, by: Resource("c", method: .post)) { value in
        value.append("c:\(notes.cached(list)?.count ?? -1)")
      }
    }
    try await desk.bench.log.wait(for: .drafted, count: 2)
    #expect(notes.cached(other) == ["o", "c:2"])
    #expect(desk.shown == ["a", "b:1"] || desk.shown == ["a", "b:2"])
    for task in [first, second] {
      task.cancel()
      _ = try? await task.value
    }
    one.open()
    gate.open()
  }

  @Test func `a task that a draft creates reads the whole value`() async throws {
    let desk = try await NotesDesk()
    let (notes, list) = (desk.notes, desk.list)
    let hold = Gate()
    let seen = Shared<[String]?>(nil)
    let isDone = Gate()
    let (task, gate) = try await begin("b", on: desk, count: 1) {
      Task {
        try await hold.wait()
        seen.change { $0 = notes.cached(list) }
        isDone.open()
      }
      return nil
    }
    #expect(desk.shown == ["a", "b:-1"])
    hold.open()
    try await isDone.wait()
    #expect(seen.value == ["a", "b:-1"])
    task.cancel()
    gate.open()
    _ = try? await task.value
  }

  private struct Shelf: Codable, EntityContainer, Equatable {
    var articles: [Article]

    static let read = Mutex<(@Sendable () -> Shelf?)?>(nil)

    mutating func updateMembers(_ body: (Article) -> Article?) {
      _ = Self.read.withLock(\.self)?()
      articles.updateMembers(body)
    }
  }

  @Test func `a container that reads its own page gets it without newer entities`() async throws {
    let desk = EntityDesk()
    let shelves = desk.bench.layer.reactor(Shelf.self)
    desk.bench.transport.answer("/v1/shelf", with: EntityDesk.page([Article(1, "old")]))
    _ = try await shelves.fetch("shelf")
    let seen = Shared<[String?]>([])
    Shelf.read.withLock { read in
      read = {
        let shelf = shelves.cached("shelf")
        seen.change { $0.append(shelf?.articles.first?.title) }
        return shelf
      }
    }
    defer { Shelf.read.withLock { $0 = nil } }
    try await desk.fetch(Article(1, "new"))
    #expect(shelves.cached("shelf")?.articles.first?.title == "new")
    #expect(seen.value.contains("old") && !seen.value.contains("new"))
  }
}
