import Foundation
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorOperators

@Suite("Memory pressure", .timeLimit(.minutes(5)))
struct MemoryPressureTests {
  private func notes(_ bench: Bench) async throws {
    for name in ["seen", "unseen"] { try await bench.notes.save(Note(1, name), for: Resource(name)) }
  }

  @Test func `memory pressure evicts models without observers, and the disk keeps them`() async throws {
    let bench = Bench()
    try await notes(bench)
    var states = bench.notes.states(for: "seen").makeAsyncIterator()
    #expect(await states.next()?.value?.text == "seen")
    bench.layer.evictUnused()
    #expect(bench.notes.cached("seen")?.text == "seen")
    #expect(bench.notes.cached("unseen") == nil)
    #expect(
      bench.log.events.filter { $0.kind.name == .evicted }.map(\.key.url) == ["https://api.example.com/v1/unseen"])
    #expect(try await bench.notes.fetch("unseen").text == "unseen")
    #expect(bench.transport.requestCount == 0)
  }

  @Test func `a model that a caller waits for stays in memory`() async throws {
    let (bench, gate) = (Bench(), Gate())
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json).held(at: gate))
    _ = try await bench.notes.fetch("note")
    async let second = bench.notes.fetchFromNetwork("note")
    try await gate.waitForArrival()
    bench.layer.evictUnused()
    #expect(bench.notes.cached("note")?.text == "one")
    gate.open()
    #expect(try await second.text == "two")
    bench.layer.evictUnused()
    #expect(bench.notes.cached("note") == nil)
  }

  @Test func `an invalidation that the disk does not have yet stays`() async throws {
    let disk = FaultyPersistence()
    let bench = Bench(persistence: disk)
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json))
    _ = try await bench.notes.fetch("note")
    disk.failAlways(.save, with: Broken())
    await bench.notes.invalidate("note")
    disk.failAlways(.save, with: nil)
    bench.layer.evictUnused()
    #expect(bench.notes.cached("note") == nil)
    #expect(try await bench.notes.fetch("note").text == "two")
  }

  @Test func `a warning of the configured source evicts`() async throws {
    let moments = Moments()
    let bench = Bench { $0.memoryPressure = moments }
    try await notes(bench)
    #expect(bench.notes.cached("unseen") != nil)
    try await moments.comes()
    #expect(bench.notes.cached("unseen") == nil && bench.notes.cached("seen") == nil)
  }

  @Test func `the source is released with the layer`() async throws {
    let moments = Moments()
    do { _ = Bench { $0.memoryPressure = moments } }
    try await moments.ended.wait()
  }
}

#if os(Linux)
  @Suite("Memory pressure of a control group", .timeLimit(.minutes(5)))
  struct CgroupMemoryPressureTests {
    private func append(_ line: String, to file: URL) throws {
      let handle = try FileHandle(forWritingTo: file)
      defer { try? handle.close() }
      try handle.seekToEnd()
      try handle.write(contentsOf: Data("\(line)\n".utf8))
    }

    private func withGroup(_ body: (URL) async throws -> Void) async throws {
      try await withTemporaryDirectory { directory in
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try Data("low 0\nhigh 2\nmax 1\n".utf8).write(to: directory.appending(path: "memory.events"))
        try await body(directory)
      }
    }

    @Test func `a limit that was reached again is a warning, and the watch ends with its reader`() async throws {
      try await withGroup { directory in
        let file = directory.appending(path: "memory.events")
        let ended = Latch()
        let pressure = CgroupMemoryPressure(directory: directory.path(percentEncoded: false))
        var warnings: Optional = pressure.watch { ended.open() }.makeAsyncIterator()
        try append("max 1", to: file)
        #expect(await warnings?.next() != nil)
        try append("oom_kill 1", to: file)
        #expect(await warnings?.next() != nil)
        #expect(!ended.isOpen)
        warnings = nil
        try await ended.wait()
      }
    }

    @Test func `a reader that is cancelled ends the watch`() async throws {
      try await withGroup { directory in
        let (begun, ended) = (Gate(isOpen: true), Latch())
        let pressure = CgroupMemoryPressure(directory: directory.path(percentEncoded: false))
        let task = Task {
          let warnings = pressure.watch { ended.open() }
          try await begun.wait()
          for await _ in warnings {}
        }
        try await begun.waitForArrival()
        task.cancel()
        try await ended.wait()
        try await task.value
      }
    }

    @Test func `a layer evicts when its group reaches a limit`() async throws {
      try await withGroup { directory in
        let evicted = Latch()
        let bench = Bench {
          $0.memoryPressure = CgroupMemoryPressure(directory: directory.path(percentEncoded: false))
        }
        try await bench.notes.save(Note(1, "note"), for: "note")
        let token = bench.layer.observeEvents { if $0.kind.name == .evicted { evicted.open() } }
        try append("high 1", to: directory.appending(path: "memory.events"))
        try await evicted.wait()
        #expect(bench.notes.cached("note") == nil)
        withExtendedLifetime(token) {}
      }
    }

    @Test func `without the file there are no warnings`() async {
      for await _ in CgroupMemoryPressure(directory: "/nonexistent").warnings { Issue.record("a warning") }
    }

    @Test(arguments: [
      ("", 0), ("low 7\n", 0), ("low 7\nhigh 2\nmax 3\noom 4\noom_kill 5\noom_group_kill 6\n", 14),
      ("max x\nhigh 1", 1),
      ("max 18446744073709551615\nhigh 2\n", 1),
    ])
    func `only a limit that was reached counts`(text: String, count: UInt64) {
      #expect(CgroupMemoryPressure.count(in: text) == count)
    }

    @Test(arguments: [
      ("0::/\n", "/sys/fs/cgroup"), ("4:memory:/a\n0::/user.slice/app.scope\n", "/sys/fs/cgroup/user.slice/app.scope"),
      ("4:memory:/a\n", nil), ("", nil),
    ])
    func `the group of a process is read from cgroup v2`(text: String, directory: String?) {
      #expect(CgroupMemoryPressure.directory(in: text) == directory)
    }
  }
#endif
