import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// The table of the fetch policies, each cell, for a copy in memory and one on disk.
@Suite("Policy table", .timeLimit(.minutes(5)))
struct PolicyTableTests {
  enum Stored: CaseIterable, Sendable { case nothing, fresh, stale }
  enum Place: CaseIterable, Sendable { case memory, disk }
  enum Network: CaseIterable, Sendable { case works, isBusy, isOffline, refuses }
  enum Result: Equatable { case stored, new, notCached, noConnectivity, status(Int) }

  struct Cell: Sendable, CustomTestStringConvertible {
    let policy: FetchPolicy, stored: Stored, place: Place, network: Network
    var testDescription: String { "\(policy), \(stored) in \(place), network \(network)" }

    /// The result of the network, and the number of requests.
    var asked: (Result, Int) {
      switch network {
      case .works: (.new, 1)
      case .isBusy: (.status(503), 1)
      case .refuses: (.status(404), 1)
      case .isOffline: (.noConnectivity, 0)
      }
    }

    /// The table, written down a second time.
    var expected: (result: Result, requests: Int) {
      switch (policy, stored) {
      case (.cacheFirst, .fresh), (.staleWhileRevalidate, .fresh): (.stored, 0)
      case (.cacheOnly, .nothing): (.notCached, 0)
      case (.cacheOnly, _): (.stored, 0)
      case (.staleWhileRevalidate, .stale): (.stored, asked.1)
      case (.networkFirst, .fresh), (.networkFirst, .stale):
        network == .isBusy || network == .isOffline ? (.stored, asked.1) : asked
      default: asked
      }
    }
  }

  static let cells = FetchPolicy.allCases.flatMap { policy in
    Stored.allCases.flatMap { stored in
      Place.allCases.flatMap { place in
        Network.allCases.map { Cell(policy: policy, stored: stored, place: place, network: $0) }
      }
    }
  }

  @Test(arguments: cells) func `each cell is as the table says`(cell: Cell) async throws {
    let first = Bench { $0.freshFor = .seconds(60) }
    if cell.stored != .nothing {
      first.transport.answer("/v1/note", with: .json(Note(1, "stored").json))
      _ = try await first.notes.fetch("note")
    }
    if cell.stored == .stale { first.clock.advance(by: .seconds(60)) }
    let bench = cell.place == .memory ? first : first.restarted { $0.freshFor = .seconds(60) }
    bench.reachability.set(cell.network != .isOffline)
    bench.transport.answer("/v1/note", with: cell.answer)
    let before = bench.transport.requestCount

    let result = await outcome { try await bench.notes.fetch("note", policy: cell.policy).text }
    #expect(result == cell.expected.result)
    if cell.policy == .staleWhileRevalidate, cell.stored == .stale {
      if cell.network == .works {
        try await bench.log.wait(for: .saved, count: cell.place == .memory ? 2 : 1)
      } else {
        try await bench.log.wait(for: .failed)
      }
    }
    #expect(bench.transport.requestCount - before == cell.expected.requests)
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test(arguments: Place.allCases)
  func `a stale copy replaces an error while its age is below lifetime plus staleIfError`(place: Place)
    async throws
  {
    for (age, stands) in [(60, true), (89, true), (90, false)] {
      let first = Bench { $0.freshFor = .seconds(60) }
      first.transport.answer("/v1/note", with: .json(Note(1, "stored").json), .response(.serviceUnavailable))
      _ = try await first.notes.fetch("note")
      first.clock.advance(by: .seconds(age))
      let bench = first.restarted {
        $0.freshFor = .seconds(60)
        $0.staleIfError = .seconds(30)
      }
      if place == .memory { _ = try await bench.notes.fetch("note", policy: .cacheOnly) }
      let result = await outcome { try await bench.notes.fetch("note").text }
      #expect(result == (stands ? .stored : .status(503)), "at the age of \(age) s")
    }
  }

  @Test func `staleIfError replaces no refusal, no parser's error and no cancellation`() async throws {
    for answer in [ScriptedTransport.Answer.response(.notFound), .json("no JSON"), .failure(CancellationError())] {
      let bench = Bench {
        $0.freshFor = .zero
        $0.staleIfError = .never
      }
      bench.transport.answer("/v1/note", with: .json(Note(1, "stored").json), answer)
      _ = try await bench.notes.fetch("note")
      #expect(await error { try await bench.notes.fetch("note") } != nil)
    }
  }

  @Test(arguments: ["no-cache", "must-revalidate, max-age=0"])
  func `a value that the server forbids to serve stale is no fallback`(directive: String) async throws {
    for policy in [FetchPolicy.cacheFirst, .networkFirst, .staleWhileRevalidate] {
      let bench = Bench { $0.staleIfError = .never }
      bench.transport.answer(
        "/v1/note", with: .json(Note(1, "stored").json, fields: [.cacheControl: directive]),
        .response(.serviceUnavailable))
      _ = try await bench.notes.fetch("note")
      #expect(await outcome { try await bench.notes.fetch("note", policy: policy).text } == .status(503), "\(policy)")
      // History is shown all the same (RFC 9111 §6).
      #expect(try await bench.notes.fetch("note", policy: .cacheOnly).text == "stored")
      #expect(bench.notes.cached("note")?.text == "stored")
    }
  }

  @Test func `a no-store response reaches its waiters, and no later caller`() async throws {
    let bench = Bench()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "one").json, fields: [.cacheControl: "no-store"]),
      .json(Note(1, "two").json, fields: [.cacheControl: "no-store"]))
    #expect(try await bench.notes.fetch("note").text == "one")
    #expect(bench.notes.cached("note") == nil)
    #expect(await outcome { try await bench.notes.fetch("note", policy: .cacheOnly).text } == .notCached)
    #expect(try await bench.notes.fetch("note").text == "two")
    #expect(try await bench.persistence?.entries(in: nil, url: nil).isEmpty == true)
  }

  @Test func `no-store is shown by the streams that are open`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json, fields: [.cacheControl: "no-store"]))
    var states = bench.notes.states(for: "note").makeAsyncIterator()
    #expect(await states.first { $0.fetchStatus == .idle }?.value?.text == "one")
    #expect(bench.notes.cached("note") == nil)
    #expect(bench.notes.states(for: "note").current.value == nil)
  }

  @Test func `the server's stale-while-revalidate makes cacheFirst return the stale copy and ask`() async throws {
    let bench = Bench()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "one").json, fields: [.cacheControl: "max-age=60, stale-while-revalidate=30"]),
      .json(Note(1, "two").json))
    _ = try await bench.notes.fetch("note")
    bench.clock.advance(by: .seconds(61))
    #expect(try await bench.notes.fetch("note").text == "one")
    var states = bench.notes.states(for: "note", policy: .cacheOnly).makeAsyncIterator()
    #expect(await states.first { $0.value?.text == "two" } != nil)
    #expect(try await bench.notes.fetch("note").text == "two")
    #expect(bench.transport.requestCount == 2)
  }

  @Test func `the resource's freshFor goes before the response's, and that before the configuration's`() async throws {
    let bench = Bench { $0.freshFor = .seconds(10) }
    bench.transport.answer("/v1/note", with: .json(Note(1, "x").json, fields: [.cacheControl: "max-age=60"]))
    _ = try await bench.notes.fetch("note")
    bench.clock.advance(by: .seconds(59))
    _ = try await bench.notes.fetch("note")
    #expect(bench.transport.requestCount == 1)
    var impatient: Resource = "note"
    impatient.freshFor = .seconds(30)
    _ = try await bench.notes.fetch(impatient)
    #expect(bench.transport.requestCount == 2)
  }

  private func outcome(_ body: () async throws -> String) async -> Result {
    do {
      return try await body() == "stored" ? .stored : .new
    } catch let error as ReactorError {
      if error.isNotCached { return .notCached }
      if error.isNoConnectivity { return .noConnectivity }
      return .status(error.status ?? 0)
    } catch {
      return .status(-1)
    }
  }
}

extension PolicyTableTests.Cell {
  var answer: ScriptedTransport.Answer {
    switch network {
    case .works, .isOffline: .json(Note(1, "new").json)
    case .isBusy: .response(.serviceUnavailable)
    case .refuses: .response(.notFound)
    }
  }
}
