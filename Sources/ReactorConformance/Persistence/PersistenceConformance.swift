public import ReactorCore
public import Testing

/// A conformance suite for implementations of `Persistence`.
///
/// ```swift
/// @Test func `my persistence keeps the contract`() async throws {
///   try await PersistenceConformance { MyPersistence() }.run()
/// }
/// ```
///
/// Use ``init(opening:)`` for a store that can be opened again; the suite checks that too.
///
/// A violated promise is recorded as an issue with its name, at the caller's line. The other checks
/// still run.
public struct PersistenceConformance: Sendable {
  private let makePlace: @Sendable () async throws -> Opening

  /// A closure that opens a store at its location. Each call returns another instance, as another
  /// process would get.
  public typealias Opening = @Sendable () async throws -> any Persistence

  /// Creates a suite for a store that is opened once.
  ///
  /// - Parameter make: Returns an empty store. It is called for each check.
  public init(_ make: @escaping @Sendable () async throws -> any Persistence) {
    makePlace = {
      let persistence = try await make()
      return { persistence }
    }
  }

  /// Creates a suite for a store that can be opened again.
  ///
  /// ```swift
  /// try await PersistenceConformance(opening: {
  ///   let directory = URL.temporaryDirectory.appending(path: UUID().uuidString)
  ///   return { FilePersistence(directory: directory) }
  /// }).run()
  /// ```
  ///
  /// - Parameter makePlace: Returns the closure that opens a store, which is empty at first. It is
  ///   called for each check.
  public init(opening makePlace: @escaping @Sendable () async throws -> Opening) { self.makePlace = makePlace }

  /// Runs every check, one after the other.
  ///
  /// - Throws: The errors of creating or opening a store. An error of a check is an issue.
  public func run(sourceLocation: SourceLocation = #_sourceLocation) async throws {
    for check in Self.checks {
      let open = try await makePlace()
      let persistence = try await open()
      let subject = Subject(persistence: persistence, open: open, check: check.name, location: sourceLocation)
      await check.run(subject, at: sourceLocation)
    }
  }
}

extension PersistenceConformance {
  typealias Check = ConformanceCheck<Subject>

  static var checks: [Check] { keeping + replacing + removing + listing + concurrency + secrets }

  /// The store under test.
  struct Subject: Sendable {
    let persistence: any Persistence
    let open: Opening
    let check: String
    let location: SourceLocation

    func expect(_ condition: Bool, _ what: String) {
      #expect(condition, "\(check): \(what)", sourceLocation: location)
    }

    func expect(_ key: RecordKey, holds record: Record?, _ what: String = "") async throws {
      let loaded = try await persistence.load(key)
      let isSame = loaded.map(Samples.spelling) == record.map(Samples.spelling)
      expect(isSame, "\(what.isEmpty ? "" : what + ": ")expected \(describe(record)), loaded \(describe(loaded))")
    }

    private func describe(_ record: Record?) -> String {
      record.map { "\($0.head), \($0.body.count) bytes" } ?? "no record"
    }
  }
}
