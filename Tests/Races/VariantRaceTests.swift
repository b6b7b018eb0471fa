import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorCore

/// Several variants of one URL (RFC 9111 §4.1), of which memory has one for each key.
@Suite("Variants of one URL at once", .timeLimit(.minutes(5)))
struct VariantsAtOnceTests {
  private static let english = Resource("note", headers: [.acceptLanguage: "en"])
  private static let german = Resource("note", headers: [.acceptLanguage: "de"])
  private static let both = [english, german]

  /// A server that gives the language and counts its answers to it.
  private func transport() -> ScriptedTransport {
    let counts = Shared<[String: Int]>([:])
    return ScriptedTransport { request, _ in
      let language = request.headerFields[.acceptLanguage] ?? "none"
      let number = counts.change { counts in
        counts[language, default: 0] += 1
        return counts[language, default: 0]
      }
      return .json(
        Note(1, "\(language) \(number)").json, fields: [.vary: "Accept-Language", .cacheControl: "max-age=60"])
    }
  }

  /// Both variants on disk, and a layer that has nothing in memory.
  private func stored(on disk: FaultyPersistence = FaultyPersistence()) async throws -> Bench {
    let bench = Bench(persistence: disk, transport: transport())
    for resource in Self.both { _ = try await bench.notes.fetch(resource) }
    bench.clock.advance(by: .seconds(1))
    return bench.restarted()
  }

  @Test(arguments: FetchPolicy.allCases.filter { $0 != .networkOnly })
  func `variants of one URL at once are each found on disk, with no connectivity`(policy: FetchPolicy) async throws {
    let disk = FaultyPersistence()
    let bench = try await stored(on: disk)
    bench.reachability.set(false)
    let gate = disk.hold(.load)
    let notes = bench.notes
    let english = Task { try await notes.fetch(Self.english, policy: policy).text }
    try await gate.reached()
    let german = Task { try await notes.fetch(Self.german, policy: policy).text }
    try await bench.log.wait(for: .joined)
    gate.open()
    #expect(try await english.value == "en 1")
    #expect(try await german.value == "de 1")
    #expect(bench.transport.requestCount == 2)
  }

  @Test func `a variant is a stale fallback even if another has displaced it in memory`() async throws {
    let disk = FaultyPersistence()
    let first = Bench(persistence: disk, transport: transport())
    for resource in Self.both { _ = try await first.notes.fetch(resource) }
    first.clock.advance(by: .seconds(100))
    let bench = first.restarted { $0.staleIfError = .seconds(600) }
    let gate = disk.hold(.load)
    let looking = disk.hold(.load)
    let notes = bench.notes
    let english = Task { try await notes.fetch(Self.english).text }
    try await gate.reached()
    let german = Task { try await notes.fetch(Self.german).text }
    try await bench.log.wait(for: .joined)
    bench.reachability.set(false)
    gate.open()
    looking.open()
    #expect(try await english.value == "en 1")
    #expect(try await german.value == "de 1")
  }

  @Test func `variants of one URL at once are requested once each, however many callers there are`() async throws {
    let bench = try await stored()
    let notes = bench.notes
    let texts = try await withThrowingTaskGroup(of: String.self) { group in
      for resource in Self.both + Self.both + Self.both {
        group.addTask { try await notes.fetchFromNetwork(resource).text }
      }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(texts.isSubset(of: ["en 2", "de 2", "en 3", "de 3"]))
    #expect(bench.transport.requestCount <= 6)
  }

  @Test(arguments: [true, false])
  func `all variants are stale after an invalidation, and a stream requests its own`(isPut: Bool) async throws {
    let bench = Bench(transport: transport())
    let notes = bench.notes
    let stream = notes.states(for: Self.german).subscribe()
    while let state = await stream.next(), state.value == nil {}
    #expect(try await notes.fetch(Self.english).text == "en 1")
    bench.clock.advance(by: .seconds(1))
    if isPut {
      _ = try await notes.send(Resource("note", method: .put, headers: [.acceptLanguage: "none"]))
    } else {
      await notes.invalidate(Self.german)
    }
    while let state = await stream.next(), state.value?.text != "de 2" {}
    #expect(stream.latest()?.isStale == false)
    #expect(try await notes.fetch(Self.english).text == "en 2")
  }

  @Test func `a variant is stale in another type's stream that shows it, and the other variants are not`() async throws
  {
    struct Title: Codable, Sendable { var text: String }
    let bench = Bench(transport: transport())
    let (notes, titles) = (bench.notes, bench.layer.reactor(Title.self))
    let stream = titles.states(for: Self.german).subscribe()
    while let state = await stream.next(), state.value == nil {}
    #expect(try await titles.fetch(Self.english).text == "en 1")
    bench.clock.advance(by: .seconds(1))
    #expect(try await notes.fetchFromNetwork(Self.german).text == "de 2")
    while let state = await stream.next(), state.value?.text != "de 2" {}
    #expect(bench.transport.requestCount == 3)
    #expect(try await notes.fetchFromNetwork(Self.english).text == "en 2")
    #expect(stream.latest()?.isStale == false)
    #expect(bench.transport.requestCount == 4)
  }

  @Test func `stay stale where the mark on disk has failed, though one of them was refreshed`() async throws {
    let disk = FaultyPersistence()
    let bench = try await stored(on: disk)
    disk.fail(.save, with: Record.Failure.truncated)
    await bench.notes.invalidate(Self.english)
    #expect(bench.log.count(.saveFailed) == 1)
    bench.clock.advance(by: .seconds(1))
    #expect(try await bench.notes.fetch(Self.english).text == "en 2")
    #expect(try await bench.notes.fetch(Self.german).text == "de 2")
    #expect(bench.transport.requestCount == 4)
  }

  @Test func `a local write to a variant does not replace a newer answer`() async throws {
    let disk = FaultyPersistence()
    let bench = Bench(persistence: disk, transport: transport())
    let stream = bench.notes.states(for: Self.english, policy: .cacheOnly).subscribe()
    let german = bench.notes.states(for: Self.german, policy: .cacheOnly).subscribe()
    try await bench.notes.save(Note(1, "mine"), for: Self.english)
    for stream in [stream, german] { while let state = await stream.next(), state.value?.text != "mine" {} }
    bench.clock.advance(by: .seconds(1))
    disk.failAlways(.save, with: Record.Failure.truncated)
    #expect(try await bench.notes.fetchFromNetwork(Self.english).text == "en 1")
    bench.clock.advance(by: .seconds(1))
    // On disk, and to whom reads German, the write is the latest that there is.
    #expect(try await bench.notes.fetch(Self.german, policy: .cacheOnly).text == "mine")
    #expect(bench.notes.cached(Self.english)?.text == "en 1")
    #expect(stream.latest()?.value?.text == "en 1")
    #expect(german.latest()?.value?.text == "mine")
  }

  @Test func `an older variant on disk does not replace a local write`() async throws {
    struct Title: Codable, Sendable { var text: String }
    let disk = FaultyPersistence()
    let bench = Bench(persistence: disk, transport: transport())
    let titles = bench.layer.reactor(Title.self)
    for resource in Self.both { _ = try await bench.notes.fetch(resource) }
    bench.clock.advance(by: .seconds(1))
    disk.failAlways(.save, with: Record.Failure.truncated)
    try await titles.save(Title(text: "mine"), for: Self.german)
    let stream = titles.states(for: Self.german, policy: .cacheOnly).subscribe()
    while let state = await stream.next(), state.value == nil {}
    disk.failAlways(.save, with: nil)
    bench.clock.advance(by: .seconds(1))
    // The English answer is stored; what is on disk in German is of before the write.
    #expect(try await bench.notes.fetchFromNetwork(Self.english).text == "en 2")
    var state = stream.latest()
    while state?.fetchStatus != .idle { state = await stream.next() }
    #expect(state?.value?.text == "mine")
  }
}

/// A flight's answer against the variant that each of its waiters asked for (RFC 9111 §4.1).
@Suite("Races of variants", .timeLimit(.minutes(5)))
struct VariantRaceTests {
  private static let english = Resource("note", headers: [.acceptLanguage: "en"])
  private static let german = Resource("note", headers: [.acceptLanguage: "de"])

  private func answer(_ request: HTTPRequest) -> ScriptedTransport.Answer {
    .json(
      Note(1, request.headerFields[.acceptLanguage] ?? "none").json,
      fields: [.vary: "Accept-Language", .lastModified: "Thu, 01 Jan 2026 00:00:00 GMT"])
  }

  @Test func `a caller that joins a flight with a header for another variant gets that variant`() async throws {
    let gate = Gate()
    let bench = Bench(transport: ScriptedTransport { request, _ in answer(request).held(at: gate) })
    let notes = bench.notes
    let first = Task { try await notes.fetch(Self.english).text }
    try await gate.waitForArrival()
    let second = Task { try await notes.fetch(Self.german).text }
    try await bench.log.wait(for: .joined)
    gate.open()
    #expect(try await first.value == "en")
    #expect(try await second.value == "de")
    #expect(bench.transport.requestCount == 2)
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test func `a stream keeps its own variant when another one is fetched`() async throws {
    let bench = Bench(transport: ScriptedTransport { request, _ in answer(request) })
    var states = bench.notes.states(for: Self.english).makeAsyncIterator()
    #expect(await states.first { $0.value != nil && $0.fetchStatus == .idle }?.value?.text == "en")
    #expect(try await bench.notes.fetch(Self.german).text == "de")
    #expect(await states.next()?.value?.text == "en")
    #expect(bench.notes.cached(Self.english) == nil)
    try await bench.notes.remove(Self.english)
    #expect(await states.next()?.value == nil)
  }

  @Test func `the validators of one variant are not sent for another`() async throws {
    let transport = ScriptedTransport { request, _ in
      request.headerFields[.ifModifiedSince] == nil ? answer(request) : .response(.notModified)
    }
    let bench = Bench(transport: transport)
    #expect(try await bench.notes.fetch(Self.english).text == "en")
    #expect(try await bench.notes.fetch(Self.german).text == "de")
  }
}
