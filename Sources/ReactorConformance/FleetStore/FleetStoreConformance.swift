import Foundation
public import ReactorFleet
import Synchronization
public import Testing

/// A conformance suite for implementations of `FleetStore`.
///
/// ```swift
/// @Test func `my fleet's store keeps the contract`() async throws {
///   try await FleetStoreConformance { MyFleetStore(namespace: UUID().uuidString) }.run()
/// }
/// ```
///
/// A violated promise is recorded as an issue with its name, at the caller's line. The other checks
/// still run. The suite waits for leases of a few milliseconds to end. It does not check an
/// unreachable, full or replaced store.
public struct FleetStoreConformance: Sendable {
  private let make: @Sendable () async throws -> any FleetStore

  /// Creates a suite.
  ///
  /// - Parameter make: Returns an empty store. It is called for each check.
  public init(_ make: @escaping @Sendable () async throws -> any FleetStore) { self.make = make }

  /// Runs every check, one after the other.
  ///
  /// - Throws: The errors of creating a store. An error of a check is an issue.
  public func run(sourceLocation: SourceLocation = #_sourceLocation) async throws {
    for check in Self.checks {
      let store = try await make()
      await check.run(Subject(store: store, check: check.name, location: sourceLocation), at: sourceLocation)
    }
  }
}

extension FleetStoreConformance {
  typealias Check = ConformanceCheck<Subject>

  static var checks: [Check] { records + order + leases + messages }

  /// The store under test.
  struct Subject: Sendable {
    let store: any FleetStore
    let check: String
    let location: SourceLocation
    let record = FleetRecordID(url: FleetURLID(text: "url"), name: "00")

    func expect(_ condition: Bool, _ what: String) {
      #expect(condition, "\(check): \(what)", sourceLocation: location)
    }

    /// Draws a ticket with a lease that lasts for the check.
    func begin(
      _ record: FleetRecordID? = nil, _ wish: FleetLeaseRequest = .lease, lease: Duration = .seconds(60)
    ) async throws -> FleetLeaseAnswer {
      try await store.begin(record ?? self.record, wish, lease: lease, retention: .seconds(60))
    }

    /// Draws a ticket, and returns it.
    func ticket(
      _ record: FleetRecordID? = nil, _ wish: FleetLeaseRequest = .lease, lease: Duration = .seconds(60)
    ) async throws -> FleetTicket {
      switch try await begin(record, wish, lease: lease) {
      case .granted(let ticket, _), .pass(let ticket, _): return ticket
      case let other: throw Unexpected(what: "begin returned \(other) instead of a ticket")
      }
    }

    func commit(_ ticket: FleetTicket, _ body: String = "body", _ head: String = "head") async throws
      -> FleetCommitResult
    {
      try await store.commit(
        ticket, .response(head: Data(head.utf8), body: Data(body.utf8)), retention: .seconds(60))
    }

    func confirm(_ ticket: FleetTicket, of version: FleetVersion, _ head: String = "head") async throws
      -> FleetCommitResult
    {
      try await store.commit(ticket, .confirmation(head: Data(head.utf8), of: version), retention: .seconds(60))
    }

    func expect(_ end: FleetCommitResult, _ expected: FleetCommitResult, _ what: String = "") {
      expect(end == expected, "\(what)a commit was \(end), and not \(expected)")
    }

    /// Expects a record with this body.
    func expect(holds body: String?, _ record: FleetRecordID? = nil, _ what: String = "") async throws {
      let view = try await store.read(record ?? self.record, known: nil)
      let text = view.body.map { String(decoding: $0, as: UTF8.self) }
      expect(text == body, "\(what)read returned \(text ?? "nothing"), and not \(body ?? "nothing")")
    }

    /// Repeats a step until it returns `true`, for at most a minute.
    func wait(for what: String, _ step: () async throws -> Bool) async throws {
      let end = ContinuousClock.now + .seconds(60)
      while ContinuousClock.now < end {
        if try await step() { return }
        try await Task.sleep(for: .milliseconds(1))
      }
      expect(false, "\(what) did not happen within a minute")
    }
  }

  struct Unexpected: Error, CustomStringConvertible {
    let what: String
    var description: String { what }
  }
}
