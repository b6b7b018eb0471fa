#if Sealing
  import Foundation
  public import ReactorCore
  import ReactorOutbox

  extension SealedOutboxStorage {
    /// Seals every entry of `scope` and every id from a server with the current key, while the
    /// outbox is in use.
    ///
    /// The pass reads the keys from the provider, and waits for the commits of this object that
    /// began before. Each entry is replaced in one commit, unless another process has changed it
    /// meanwhile. A pass that was cancelled, or whose process was killed, leaves every entry
    /// readable, and the next pass continues it.
    ///
    /// - Throws: As ``contents(of:)``; `CancellationError`. What was sealed again stays so.
    @concurrent public func reseal(in scope: Scope) async throws -> ResealReport {
      let name = try await card.store(writes: false).scope(scope)
      var report = ResealReport()
      for _ in 0..<3 where !report.isComplete {
        let keys = try sealing.keys(of: scope, read: true)
        await gate.settle()
        (report.altered, report.key) = ([], keys.current.id)
        let contents = try await base.contents(of: name)
        var isOld = false
        for stored in contents.entries {
          try Task.checkCancellation()
          try await note(&report, &isOld) {
            guard try SealedEntry.keyID(of: stored) != keys.current.id else { return nil }
            return try await reseal(stored, name, with: keys)
          }
        }
        for temporary in contents.identities.keys.sorted() {
          try Task.checkCancellation()
          try await note(&report, &isOld) { try await resealID(temporary, name, with: keys) }
        }
        report.isComplete = try !isOld && sealing.keys(of: scope, read: true).current.id == keys.current.id
      }
      return report
    }

    /// - Parameter body: Returns `nil` for what is sealed with the current key, and `false` for
    ///   what somebody else has changed.
    private func note(
      _ report: inout ResealReport, _ isOld: inout Bool, _ body: () async throws -> Bool?
    ) async throws {
      do {
        guard let isResealed = try await body() else { return }
        isOld = true
        if isResealed { report.resealed += 1 }
      } catch let error as SealingError {
        switch error {
        case .altered, .notSealed: report.altered.append("\(error)")
        default: throw error
        }
        isOld = true
      }
    }

    private func reseal(_ stored: StoredEntry, _ name: Scope, with keys: ScopeKeys) async throws -> Bool {
      let entry = try SealedEntry.open(stored, of: keys.scope, as: name, with: sealing)
      let sealed = try SealedEntry.seal(entry, with: keys)
      do {
        _ = try await base.commit([.require(stored), .update(sealed)], in: name)
        return true
      } catch OutboxStorageError.changedEntry, OutboxStorageError.unknownEntry {
        return false
      }
    }

    private func resealID(_ temporary: String, _ name: Scope, with keys: ScopeKeys) async throws -> Bool? {
      try await gate.reseal(name) {
        // As it is now: a commit of this process may have replaced it since the listing.
        guard let stored = try await base.contents(of: name).identities[temporary],
          try SealedEntry.keyID(of: stored, temporary) != keys.current.id
        else { return nil }
        let json = try SealedEntry.openID(stored, of: temporary, in: keys.scope, as: name, with: sealing)
        _ = try await base.commit(
          [.identify(temporary, try SealedEntry.sealID(json, of: temporary, with: keys))], in: name)
        return true
      }
    }
  }
#endif
