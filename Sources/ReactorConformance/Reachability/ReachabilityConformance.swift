public import ReactorCore
import ReactorTesting
public import Testing

/// A conformance suite for implementations of `Reachability`.
///
/// ```swift
/// @Test func `my reachability keeps the contract`() async {
///   await ReachabilityConformance(MyReachability()) { $0.simulate(isReachable: $1) }.run()
/// }
/// ```
///
/// A violated promise is recorded as an issue with its name, at the caller's line. The other checks
/// still run. An effect that does not arrive within twenty seconds is a violation.
public struct ReachabilityConformance: Sendable {
  private let reachability: any Reachability
  private let set: (@Sendable (Bool) async throws -> Void)?
  /// The time within which an immediate effect must arrive.
  var patience = Duration.seconds(20)

  /// Creates a suite of the checks that need no change of connectivity.
  public init(_ reachability: some Reachability) {
    self.reachability = reachability
    set = nil
  }

  /// Creates a suite of all checks.
  ///
  /// - Parameters:
  ///   - reachability: The implementation under test.
  ///   - set: Sets connectivity. The reachability may report the change later.
  public init<R: Reachability>(_ reachability: R, set: @escaping @Sendable (R, Bool) async throws -> Void) {
    self.reachability = reachability
    self.set = { try await set(reachability, $0) }
  }

  /// Runs every check, one after the other.
  public func run(sourceLocation: SourceLocation = #_sourceLocation) async {
    for check in set == nil ? Self.standing : Self.standing + Self.changing {
      let subject = Subject(
        reachability: reachability, set: set ?? { _ in }, check: check.name, location: sourceLocation,
        patience: patience)
      await check.run(subject, at: sourceLocation)
    }
  }
}

extension ReachabilityConformance {
  typealias Check = ConformanceCheck<Subject>

  /// The reachability under test.
  struct Subject: Sendable {
    let reachability: any Reachability
    let set: @Sendable (Bool) async throws -> Void
    let check: String
    let location: SourceLocation
    let patience: Duration

    func expect(_ condition: Bool, _ what: String) {
      #expect(condition, "\(check): \(what)", sourceLocation: location)
    }

    /// Returns the result of `work`.
    ///
    /// - Throws: ``NeverHappened``, if `work` does not return in time; otherwise the errors of
    ///   `work`.
    func wait<Value: Sendable>(
      for what: String, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
      do {
        return try await withDeadline(patience, ContinuousClock(), work)
      } catch ReactorError.timedOut {
        throw NeverHappened(what: what, limit: patience)
      }
    }

    /// Returns the elements of a new stream up to and including the first `last`; all elements if
    /// `last` never comes.
    func values(until last: Bool, of stream: AsyncStream<Bool>) async throws -> [Bool] {
      try await wait(for: "\(last)") {
        var values: [Bool] = []
        for await value in stream {
          values.append(value)
          if value == last { break }
        }
        return values
      }
    }

    /// Returns the first element of `stream`, or `nil` if it ends without one.
    func first(of stream: AsyncStream<Bool>) async throws -> Bool? {
      try await wait(for: "the current value") { await stream.first { _ in true } }
    }
  }
}
