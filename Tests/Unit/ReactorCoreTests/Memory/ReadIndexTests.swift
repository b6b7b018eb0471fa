import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorCore

/// The facts that a resource caches about the memory that it was looked up in.
@Suite(.timeLimit(.minutes(5))) struct `A resource that was asked with before` {
  private final class Owned: Sendable {
    let gone = Latch()
    deinit { gone.open() }
  }

  private static func reactor<Model: Sendable>(
    models: Int = 100, _ make: @escaping @Sendable (Resource) throws -> Model
  ) -> Reactor<Model> {
    var configuration = ReactorConfiguration()
    configuration.memoryLimit = ReactorConfiguration.MemoryLimit(models: models, bytes: .max)
    return Reactor(flow: ReactorFlow(configuration: configuration) { try make($0) })
  }

  @Test func `a resource leads to its model, and so does an equal one`() async throws {
    let resource = Resource("a")
    let reactor = Self.reactor { $0.path }
    #expect(reactor.cached(resource) == nil)
    _ = try await reactor.fetch(resource)
    #expect(reactor.cached(resource) == "a")
    #expect(reactor.cached(Resource("a")) == "a")
    #expect(reactor.cached(Resource("b")) == nil)
  }

  @Test func `a resource's hit leads each reactor to its own model`() async throws {
    let resource = Resource("a")
    let (texts, lengths) = (Self.reactor { "of \($0.path)" }, Self.reactor { [$0.path.count, 7] })
    for _ in 0..<3 {
      #expect(try await texts.fetch(resource) == "of a")
      #expect(try await lengths.fetch(resource) == [1, 7])
      #expect(texts.cached(resource) == "of a")
      #expect(lengths.cached(resource) == [1, 7])
    }
    try await texts.save("new", for: resource)
    #expect(lengths.cached(resource) == [1, 7])
    try await lengths.remove(resource)
    #expect(lengths.cached(resource) == nil)
    #expect(texts.cached(resource) == "new")
  }

  @Test func `a resource's hit stays with the memory that set it first`() {
    func copy(_ model: Int) -> CachedModel {
      CachedModel(
        Snapshot(model: AnyModel(model), fetchedAt: .distantPast),
        of: RecordKey(method: .get, url: "https://api.example.com/a"), origin: .network)
    }
    func model(_ table: ReadIndex) -> Int? { table.model(for: resource) { _ in true }?.model(as: Int.self) }
    let resource = Resource("a")
    let (first, second) = (ReadIndex(), ReadIndex())
    first.set(copy(1), for: resource)
    #expect(model(first) == 1)
    let use = first.lastUse(of: [resource])
    second.set(copy(2), for: resource)
    #expect(first.lastUse(of: [resource]) == use)
    #expect(first.consumeTouch(of: [resource]))
    #expect(!first.consumeTouch(of: [resource]))
    #expect(model(first) == 1)
    #expect(model(second) == 2)
    second.set(nil, for: resource)
    #expect(model(first) == 1)
    first.set(nil, for: resource)
    second.set(copy(3), for: resource)
    #expect(model(first) == nil)
    #expect(model(second) == 3)
    #expect(second.consumeTouch(of: [resource]))
  }

  @Test func `the index is not locked while a released reactor's model reads it`() async throws {
    final class Asking: Sendable {
      let ask: @Sendable () -> Void
      init(_ ask: @escaping @Sendable () -> Void) { self.ask = ask }
      deinit { ask() }
    }
    let resource = Resource("a")
    let other = Self.reactor { $0.path }
    let asked = Shared(0)
    do {
      let reactor = Self.reactor { _ in
        Asking {
          _ = other.cached(resource)
          asked.change { $0 += 1 }
        }
      }
      _ = try await reactor.fetch(resource)
      _ = try await other.fetch(resource)
    }
    #expect(asked.value == 1)
    #expect(other.cached(resource) == "a")
  }

  @Test func `a used resource retains no model of a released reactor`() async throws {
    let resource = Resource("a")
    let gone: Latch
    do {
      let reactor = Self.reactor { _ in Owned() }
      gone = try await reactor.fetch(resource).gone
      #expect(!gone.isOpen)
      withExtendedLifetime(reactor) {}
    }
    try await gone.wait()
    #expect(Self.reactor { _ in Owned() }.cached(resource) == nil)
  }

  @Test func `the index retains no model that was removed, replaced or evicted`() async throws {
    let resource = Resource("a")
    let reactor = Self.reactor(models: 1) { _ in Owned() }
    let removed = try await reactor.fetch(resource).gone
    try await reactor.remove(resource)
    try await removed.wait()
    #expect(reactor.cached(resource) == nil)
    let replaced = try await reactor.fetch(resource).gone
    #expect(!replaced.isOpen)
    let evicted = try await reactor.fetchFromNetwork(resource).gone
    try await replaced.wait()
    #expect(!evicted.isOpen)
    _ = try await reactor.fetch(Resource("b"))
    try await evicted.wait()
    #expect(reactor.cached(resource) == nil)
  }

  @Test func `a resource counts as used when it or an equal one is read`() async throws {
    let resources = (0..<32).map { Resource("\($0)") }
    let reactor = Self.reactor(models: 32) { $0.path }
    for resource in resources { _ = try await reactor.fetch(resource) }
    // The oldest two are used, each in its way; the next that comes costs the least recently used
    // their places.
    _ = reactor.cached(resources[0])
    _ = reactor.cached(Resource("1"))
    _ = try await reactor.fetch("new")
    #expect(reactor.cached(resources[0]) == "0")
    #expect(reactor.cached(resources[1]) == "1")
    #expect(reactor.cached(resources[2]) == nil)
  }

  @Test func `a used resource is distinguished from one that looks alike in Unicode`() async throws {
    let (composed, decomposed) = (Resource("caf\u{e9}"), Resource("cafe\u{301}"))
    let reactor = Self.reactor { $0.path.utf8.count }
    #expect(try await reactor.fetch(composed) == 5)
    #expect(try await reactor.fetch(decomposed) == 6)
    #expect(reactor.cached(composed) == 5)
  }
}
