import Foundation
import ReactorCore
import ReactorTesting
import Synchronization
import TestSupport
import Testing

/// A caller that is on no actor loads a small file on its own thread, without a hop there and back.
/// Serialized, since two of the tests block a thread, of which there may be two.
@Suite("Loads that begin at once", .serialized, .timeLimit(.minutes(5)))
struct LoadAtOnceTests {
  @Test @concurrent func `a caller on no actor parses a small file on its own thread`() async throws {
    try await withTemporaryDirectory { directory in
      let bench = try await Self.bench(directory)
      let parsing = Mutex<ObjectIdentifier?>(nil)
      let notes = bench.layer.reactor(parser: Self.parser { parsing.withLock { $0 = Self.thread() } })
      let own = Self.thread()
      #expect(try await notes.fetch("note").text == "one")
      #expect(parsing.withLock { $0 } == own)
    }
  }

  @Test @MainActor func `a caller on an actor does not`() async throws {
    try await withTemporaryDirectory { directory in
      let bench = try await Self.bench(directory)
      let isMain = Mutex<Bool?>(nil)
      let notes = bench.layer.reactor(parser: Self.parser { isMain.withLock { $0 = Thread.isMainThread } })
      #expect(try await notes.fetch("note").text == "one")
      #expect(isMain.withLock { $0 } == false)
    }
  }

  @Test func `a caller that is cancelled while it parses gets cancelled, and the next one the record`() async throws {
    try await withTemporaryDirectory { directory in
      let bench = try await Self.bench(directory)
      let caller = Mutex<Task<ReactorError?, Never>?>(nil)
      let notes = bench.layer.reactor(parser: Self.parser { caller.withLock { $0 }?.cancel() })
      let mayFetch = Gate()
      let fetch = Task {
        await mayFetch.waitIgnoringCancellation()
        return await error { try await notes.fetch("note") }
      }
      caller.withLock { $0 = fetch }
      mayFetch.open()
      #expect(await fetch.value?.isCancelled == true)
      #expect(try await notes.fetch("note").text == "one")
      #expect(bench.log.count(.cancelled) == 1)
      #expect(bench.transport.requestCount == 0)
      #expect(bench.stillWaiting.isEmpty)
    }
  }

  @Test func `a caller leaves while another thread parses a large file`() async throws {
    try await withTemporaryDirectory { directory in
      let bench = try await Self.bench(directory, text: String(repeating: "a", count: 20_000))
      let (hasBegun, hasLeft, hasParsed) = (Gate(), DispatchSemaphore(value: 0), Gate())
      let sawCallerLeave = Mutex(false)
      let notes = bench.layer.reactor(
        parser: Self.parser {
          hasBegun.open()
          let result = hasLeft.wait(timeout: .now() + 30)
          sawCallerLeave.withLock { $0 = result == .success }
          hasParsed.open()
        })
      let fetch = Task { await error { try await notes.fetch("note") } }
      await hasBegun.waitIgnoringCancellation()
      fetch.cancel()
      #expect(await fetch.value?.isCancelled == true)
      hasLeft.signal()
      await hasParsed.waitIgnoringCancellation()
      #expect(sawCallerLeave.withLock { $0 })
    }
  }

  @Test func `a caller leaves while a step of the program loads`() async throws {
    try await withTemporaryDirectory { directory in
      let bench = try await Self.bench(directory)
      let (hasBegun, hasLeft, hasLoaded) = (Gate(), DispatchSemaphore(value: 0), Gate())
      let sawCallerLeave = Mutex(false)
      let backend = Backend(baseURL: Bench.url, transport: bench.transport, reachability: bench.reachability)
      var configuration = ReactorConfiguration()
      (configuration.clock, configuration.now) = (bench.clock, bench.clock.wallClock)
      var flow = ReactorFlow<Note>(
        backend: backend, persistence: FilePersistence(directory: directory), configuration: configuration)
      flow.loadFromPersistence = { [load = flow.loadFromPersistence] resource in
        hasBegun.open()
        let result = Self.wait(hasLeft)
        sawCallerLeave.withLock { $0 = result }
        hasLoaded.open()
        return try await load(resource)
      }
      let notes = Reactor(flow: flow)
      let fetch = Task { await error { try await notes.fetch("note") } }
      await hasBegun.waitIgnoringCancellation()
      fetch.cancel()
      #expect(await fetch.value?.isCancelled == true)
      hasLeft.signal()
      await hasLoaded.waitIgnoringCancellation()
      #expect(sawCallerLeave.withLock { $0 })
    }
  }

  @Test func `callers of one key at once share the load of one of them`() async throws {
    try await withTemporaryDirectory { directory in
      let bench = try await Self.bench(directory)
      let parsed = Atomic(0)
      let notes = bench.layer.reactor(parser: Self.parser { parsed.add(1, ordering: .relaxed) })
      try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<50 { group.addTask { try await notes.fetch("note").text } }
        for try await text in group { #expect(text == "one") }
      }
      #expect(parsed.load(ordering: .relaxed) == 1)
    }
  }

  /// A layer whose store is a file with a fresh note.
  private static func bench(_ directory: URL, text: String = "one") async throws -> Bench {
    let files = FilePersistence(directory: directory)
    let earlier = Bench(persistence: files)
    earlier.transport.answer(
      "/v1/note", with: .json(Note(1, text).json, headers: [.cacheControl: "max-age=3600"]))
    _ = try await earlier.notes.fetch("note")
    return Bench(persistence: files, clock: earlier.clock)
  }

  private static func parser(_ parsing: @escaping @Sendable () -> Void) -> Parser<Note> {
    Parser(
      parse: { data in
        parsing()
        return Parsed(try JSONDecoder().decode(Note.self, from: data))
      }, encode: { try JSONEncoder().encode($0) })
  }

  private static func wait(_ semaphore: DispatchSemaphore) -> Bool {
    semaphore.wait(timeout: .now() + 10) == .success
  }

  private static func thread() -> ObjectIdentifier { ObjectIdentifier(Thread.current) }
}
