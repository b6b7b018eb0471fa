import Foundation
import HTTPTypes
import ReactorTesting
import ReactorWrites
import TestSupport
import Testing

@testable import ReactorCore

@Suite("Drafts of resources whose writes have ended", .timeLimit(.minutes(5)))
struct EndedDraftTests {
  private let living = LivingDrafts()

  @Test(arguments: [true, false], [50, 200, 800])
  func `the draft of a resource is released once a newer answer has come`(isPersistent: Bool, count: Int) async throws {
    let bench = Bench(persistence: isPersistent ? MemoryPersistence() : nil, except: [.ownSteps])
    let notes: Reactor<[String]> = bench.layer.reactor()
    let context = bench.layer.layer
    for index in 0..<count {
      let resource = Resource("list\(index)")
      bench.transport.answer("/v1/list\(index)", with: NotesDesk.answer(["a"]))
      _ = try await notes.fetch(resource)
      let draft = living.make(of: try context.key(resource))
      context.show([draft])
      context.accept([draft])
      #expect(notes.cached(resource) == ["mine"])
      _ = try await notes.fetchFromNetwork(resource)
      #expect(notes.cached(resource) == ["a"])
    }
    // The caller continues before the last draft is released, which takes the lock once more.
    for _ in 0..<100_000 where living.count > 0 { await Task.yield() }
    #expect(living.count == 0)
  }

  @Test func `the draft of a resource that is not requested again is released after ten minutes`() async throws {
    let bench = Bench(except: [.ownSteps])
    let context = bench.layer.layer
    func accept(_ path: String) throws {
      let draft = living.make(of: try context.key(Resource(path)))
      context.show([draft])
      context.accept([draft])
    }
    for index in 0..<50 { try accept("list\(index)") }
    #expect(living.count == 50)
    bench.clock.advance(by: .seconds(600))
    try accept("other")
    #expect(living.count == 1)
  }

  @Test(arguments: ["200", "304", "no-store", "save"], [true, false])
  func `a draft that something newer has replaced does not come back after an eviction`(
    _ newer: String, isPersistent: Bool
  ) async throws {
    let bench = Bench(persistence: isPersistent ? MemoryPersistence() : nil, except: [.ownSteps])
    var fields: HTTPFields = [.cacheControl: "max-age=600", .eTag: "\"1\""]
    let desk = try await NotesDesk(bench, base: ["a"], fields)
    let context = bench.layer.layer
    let draft = living.make(of: try context.key(desk.list))
    context.show([draft])
    context.accept([draft])
    #expect(desk.shown == ["mine"])
    switch newer {
    case "304": bench.transport.answer("/v1/list", with: .response(.notModified, fields: fields))
    case "no-store":
      fields[.cacheControl] = "no-store"
      fallthrough
    default: bench.transport.answer("/v1/list", with: NotesDesk.answer(["a"], fields))
    }
    if newer == "save" {
      try await desk.notes.save(["a"], for: desk.list)
    } else {
      #expect(try await desk.notes.fetchFromNetwork(desk.list) == ["a"])
    }
    bench.layer.evictUnused()
    bench.reachability.set(false)
    #expect(desk.shown == nil)
    let loaded = try? await desk.notes.fetch(desk.list, policy: .cacheOnly)
    #expect(loaded == (isPersistent && newer != "no-store" ? ["a"] : nil))
  }
}
