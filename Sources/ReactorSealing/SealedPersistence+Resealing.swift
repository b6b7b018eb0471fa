#if Sealing
  import Foundation
  public import HTTPCaching

  /// The result of a pass that seals again with the current key.
  public struct ResealReport: Sendable, Hashable {
    /// The number of records or entries that were sealed again.
    public var resealed = 0
    /// A description of each that could not be opened, and was left as it is.
    public var altered: [String] = []
    /// A Boolean value that indicates whether nothing needs a key but ``key``. The others may then
    /// be removed, once every other store of the scope says so of the same key, and every other
    /// process has read the keys again.
    public var isComplete = false
    /// The id of the key that was the current one during the pass; `nil` before it has read one.
    public var key: SealingKey.ID?
  }

  extension SealedPersistence {
    /// Seals every record of `scope` with the current key, while the store is in use.
    ///
    /// ```swift
    /// let key = try keys.addKey(of: scope).id
    /// let report = try await persistence.reseal(in: scope)
    /// if report.isComplete, report.key == key {
    ///   try keys.removeOlderKeys(of: scope, keeping: key)
    /// }
    /// ```
    ///
    /// The pass reads the keys from the provider, and waits for the saves of this object that began
    /// before.
    ///
    /// Each record is replaced in one step. A pass that was cancelled, or whose process was killed,
    /// leaves every record readable, and the next pass continues it. Run it in one process of those
    /// that share the store: a save by another process of the same record at the same moment may be
    /// undone.
    ///
    /// The pass counts as a use of each record, so the order of eviction begins anew.
    ///
    /// - Throws: ``SealingError/missingKey(_:scope:)``, errors of the key provider, errors of the
    ///   store beneath, `CancellationError`. What was sealed again stays so.
    @concurrent public func reseal(in scope: Scope) async throws -> ResealReport {
      var report = ResealReport()
      var isOld = true
      // A process with the older keys may save meanwhile.
      for _ in 0..<3 where isOld {
        let keys = try await cards.keys(of: scope, read: true)
        await gate.settle()
        isOld = false
        (report.altered, report.key) = ([], keys.current.id)
        for entry in try await base.entries(in: keys.name, url: nil) {
          try Task.checkCancellation()
          guard let summary = try await cards.boxes(of: entry)?.summary else { continue }
          guard try SealFormat.keyID(of: summary, .summary, "a record") != keys.current.id else { continue }
          isOld = true
          do {
            if try await reseal(entry.key, with: keys) { report.resealed += 1 }
          } catch let error where Self.isAboutOne(error) {
            report.altered.append("\(error)")
          }
        }
        guard !isOld else { continue }
        // Unless the key was changed meanwhile: then the card has more than one.
        report.isComplete = try sealing.keys(of: scope, read: true).current.id == keys.current.id
        if report.isComplete { try await cards.noteCurrent(of: keys) }
      }
      return report
    }

    /// Returns `true` for an error of one record, which concerns no other.
    private static func isAboutOne(_ error: any Error) -> Bool {
      switch error {
      case SealingError.altered, SealingError.notSealed: true
      default: error is Record.Failure
      }
    }

    /// Seals one record again.
    ///
    /// - Returns: `false` if it is gone, or sealed with the current key already.
    private func reseal(_ name: RecordKey, with keys: ScopeKeys) async throws -> Bool {
      try await gate.reseal(name) {
        guard let stored = try await base.load(name) else { return false }
        let sealed = try SealedRecord(stored, "a record of \(keys.scope)")
        guard try sealed.keyID("a record of \(keys.scope)") != keys.current.id else { return false }
        let summary = try SealFormat.open(
          sealed.summary, .summary, at: [Array(name.identity.utf8)], "the head of a record of \(keys.scope)"
        ) { try sealing.key($0, of: keys.scope) }
        guard let key = RecordKey(identity: try SealedRecord.Summary(encoded: [UInt8](summary)).identity) else {
          throw SealingError.altered("the head of a record of \(keys.scope)")
        }
        let record = try sealed.record(of: key, as: name, with: sealing)
        try await base.save(try SealedRecord(record, for: key, as: name, with: keys).stored, for: name)
        return true
      }
    }
  }
#endif
