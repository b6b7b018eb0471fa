#if os(macOS) || os(Linux)
  import Foundation
  import ReactorTesting
  import TestSupport
  import Testing

  @testable import ReactorCore

  private struct Draft: Codable, Sendable, Equatable { var text: String }

  /// The target Faults restarts real processes.
  @Suite(.timeLimit(.minutes(5))) struct `A restart` {
    @Test func `a restart finds what an earlier version stored under the name with an address`() async throws {
      let persistence = MemoryPersistence()
      let first = Bench(persistence: persistence)
      try await first.layer.reactor(Draft.self).save(Draft(text: "mine"), for: "draft")
      let entry = try #require(try await persistence.entries(in: nil, url: nil).first)
      var record = try #require(try await persistence.load(entry.key))
      #expect(record.head.localModel == "ReactorCoreTests.Draft")
      record.head.localModel = "ReactorCoreTests.(unknown context at $561580275568).Draft"
      try await persistence.save(record, for: entry.key)
      let found = try await first.restarted().layer.reactor(Draft.self).fetch("draft", policy: .cacheOnly)
      #expect(found == Draft(text: "mine"))
    }

    @Test(arguments: [
      ("Swift.Array<ReactorCoreTests.Draft>", true), ("ReactorCoreTests.Draft", false),
      ("Swift.Array<ReactorCoreTests.(unknown context at $1f).Draft>", true),
      ("Swift.Array<ReactorCoreTests.(unknown context at $1f).(unknown context at $2e).Draft>", true),
      ("Swift.Array<ReactorCoreTests.(unknown context at $1f).Other>", false),
    ])
    func `a restart compares the names of types without scopes that contain addresses`(_ stored: String, _ isOwn: Bool)
    {
      #expect(ModelName([Draft].self).matches(stored) == isOwn)
    }
  }
#endif
