public import ReactorCore
public import Testing

/// The suite that every `Reachability` passes; for whoever writes one.
///
/// ```swift
/// @Test func `my reachability keeps the contract`() async {
///   await ReachabilityConformance(MyReachability()) { $0.simulate(isReachable: $1) }.run()
/// }
/// ```
///
/// A broken promise is recorded as an issue that names it, at the line of the caller; the other checks still run. What does not come
/// within twenty seconds is broken.
public struct ReachabilityConformance: Sendable {
  private let reachability: any Reachability
  private let set: (@Sendable (Bool) async throws -> Void)?
  /// How long the reachability is given for what it does at once.
  var patience = Duration.seconds(20)

  /// Checks what holds while nothing changes.
  public init(_ reachability: some Reachability) {
    self.reachability = reachability
    set = nil
  }

  /// Checks what holds while nothing changes, and what happens when something does.
  ///
  /// - Parameter set: makes connectivity what it is told. The reachability may learn of it later.
  public init<R: Reachability>(_ reachability: R, set: @escaping @Sendable (R, Bool) async throws -> Void) {
    self.reachability = reachability
    self.set = { try await set(reachability, $0) }
  }

  /// Runs every check, one after the other.
  public func run(sourceLocation: SourceLocation = #_sourceLocation) async {
    for check in set == nil ? Check.standing : Check.standing + Check.changing {
      await check.run(
        Subject(
          reachability: reachability, set: set ?? { _ in }, check: check.name, location: sourceLocation,
          patience: patience))
    }
  }
}

extension ReachabilityConformance {
  /// A promise of the contract, and how it is checked.
  struct Check: Sendable {
    let name: String
    let body: @Sendable (Subject) async throws -> Void

    init(_ name: String, _ body: @escaping @Sendable (Subject) async throws -> Void) {
      self.name = name
      self.body = body
    }

    func run(_ subject: Subject) async {
      do {
        try await body(subject)
      } catch {
        Issue.record("\(name): threw \(error)", sourceLocation: subject.location)
      }
    }
  }

  /// What is under test.
  struct Subject: Sendable {
    let reachability: any Reachability
    let set: @Sendable (Bool) async throws -> Void
    let check: String
    let location: SourceLocation
    let patience: Duration

    func expect(_ condition: Bool, _ what: String) {
      #expect(condition, "\(check): \(what)", sourceLocation: location)
    }

    /// Gives what `work` gives, in time.
    ///
    /// - Throws: ``NeverHappened``.
    func wait<Value: Sendable>(
      for what: String, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
      do {
        return try await withDeadline(patience, ContinuousClock(), work)
      } catch ReactorError.timedOut {
        throw NeverHappened(what: what, limit: patience)
      }
    }

    /// The elements of a new stream until one is `last`, that included; all of them where none is.
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

    /// The first element of `stream`; `nil` where it ends without one.
    func first(of stream: AsyncStream<Bool>) async throws -> Bool? {
      try await wait(for: "the current value") { await stream.first { _ in true } }
    }
  }
}
