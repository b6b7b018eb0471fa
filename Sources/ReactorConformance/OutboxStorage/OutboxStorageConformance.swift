import ReactorCore
public import ReactorOutbox
public import Testing

/// A conformance suite for implementations of `OutboxStorage`.
///
/// ```swift
/// @Test func `my outbox storage keeps the contract`() async throws {
///   try await OutboxStorageConformance { MyOutboxStorage() }.run()
/// }
/// ```
///
/// Use ``init(opening:)`` for a store that can be opened again; the suite checks that too. Power
/// cuts and failing disks are not checked.
///
/// A violated promise is recorded as an issue with its name, at the caller's line. The other checks
/// still run.
public struct OutboxStorageConformance: Sendable {
  private let makePlace: @Sendable () async throws -> Opening

  /// A closure that opens a store at its location. Each call returns another instance, as another
  /// process would get.
  public typealias Opening = @Sendable () async throws -> any OutboxStorage

  /// Creates a suite for a store that is opened once.
  ///
  /// - Parameter make: Returns an empty store. It is called for each check.
  public init(_ make: @escaping @Sendable () async throws -> any OutboxStorage) {
    makePlace = {
      let storage = try await make()
      return { storage }
    }
  }

  /// Creates a suite for a store that can be opened again.
  ///
  /// ```swift
  /// try await OutboxStorageConformance(opening: {
  ///   let directory = URL.temporaryDirectory.appending(path: UUID().uuidString)
  ///   return { FileOutboxStorage(directory: directory) }
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
      let storage = try await open()
      let subject = Subject(storage: storage, open: open, check: check.name, location: sourceLocation)
      await check.run(subject, at: sourceLocation)
    }
  }
}

extension OutboxStorageConformance {
  typealias Check = ConformanceCheck<Subject>

  static var checks: [Check] { entries + order + refusals + identities + leases + claimedEntries + scopes + instances }

  /// The store under test.
  struct Subject: Sendable {
    let storage: any OutboxStorage
    let open: Opening
    let check: String
    let location: SourceLocation

    func expect(_ condition: Bool, _ what: String) {
      #expect(condition, "\(check): \(what)", sourceLocation: location)
    }

    /// Commits changes in the shared scope.
    @discardableResult func commit(_ changes: OutboxChange...) async throws -> [UInt64] {
      try await storage.commit(changes, in: .shared)
    }

    /// Expects the lanes and bytes of the entries, in order. Their numbers must grow.
    func expect(
      _ scope: Scope = .shared, holds entries: [StoredEntry], in storage: (any OutboxStorage)? = nil,
      _ what: String = ""
    ) async throws {
      let stored = try await (storage ?? self.storage).contents(of: scope).entries
      let isSame = stored.map(Samples.spelling) == entries.map(Samples.spelling)
      expect(isSame, "\(what)expected \(entries.map(Samples.name)), stored \(stored.map(Samples.name))")
      let numbers = stored.map(\.number)
      expect(zip(numbers, numbers.dropFirst()).allSatisfy(<), "\(what)the numbers do not increase: \(numbers)")
    }

    /// Expects `error` of a commit, and that nothing of it was applied.
    func expect(_ error: OutboxStorageError, of changes: [OutboxChange]) async throws {
      let before = try await storage.contents(of: .shared)
      var thrown: (any Error)?
      do { _ = try await storage.commit(changes, in: .shared) } catch { thrown = error }
      expect(
        thrown as? OutboxStorageError == error, "expected the error \(error), got \(thrown.map { "\($0)" } ?? "none")")
      let after = try await storage.contents(of: .shared)
      expect(before == after, "a part of the failed commit was applied")
    }
  }
}

extension OutboxContents {
  /// The contents without the identity of the store.
  package var withoutIdentity: OutboxContents {
    var contents = self
    contents.identity = nil
    return contents
  }
}
