package import Foundation
package import HTTPCaching

/// The forms without an entry. No entry is added while one of these methods runs.
extension FormDirectory {
  /// The seconds for which a form without an entry is kept: seven days.
  ///
  /// A process that is suspended may have the entry in memory, and saves it again if somebody has
  /// removed the store.
  package static let grace = 7 * 86_400

  /// The entries that forms of a scope may belong to.
  package struct Owners: Sendable {
    let ids: Set<UUID>
    let unreadable: Date?

    /// - Parameters:
    ///   - ids: The entries in the store.
    ///   - unreadable: The time of the latest part of the store that was set aside; `nil` if none
    ///     was. Forms that are not newer may belong to an entry in it.
    package init(_ ids: Set<UUID>, unreadable: Date?) { (self.ids, self.unreadable) = (ids, unreadable) }
  }

  /// A change of a form that a reading makes.
  private enum Duty {
    case bringBack, mark, remove
  }

  private func duty(_ name: Name, _ owners: Owners, _ time: Int) throws(FilePersistence.Failure) -> Duty? {
    if name.kind.isNew { return .remove }
    if owners.ids.contains(name.id) { return name.kind == .kept ? nil : .bringBack }
    if let unreadable = owners.unreadable, let status = try system.inspect(path(of: name)),
      status.modifiedAt <= unreadable
    {
      return nil
    }
    // The clock was set back if the mark is later.
    guard case .left(let since) = name.kind, since <= time else { return .mark }
    return time - since >= Self.grace ? .remove : nil
  }

  /// Returns the forms of a scope with which something is to be done, and the unfinished copies of
  /// all scopes.
  private func duties(
    of scope: Scope, _ owners: Owners, _ time: Int
  ) throws(FilePersistence.Failure) -> [(name: Name, duty: Duty)] {
    var duties: [(name: Name, duty: Duty)] = []
    let prefix = Name.prefix(of: scope)
    // The owner of another scope may never start its outbox again.
    for name in try names(of: nil) where name.kind.isNew || name.text.hasPrefix(prefix) {
      if let duty = try duty(name, owners, time) { duties.append((name, duty)) }
    }
    return duties
  }

  private static func seconds(_ now: Date) -> Int { Int(max(0, min(now.timeIntervalSince1970, 1e12))) }

  /// Returns a Boolean value that indicates whether ``tidy(_:_:at:)`` would change anything.
  package func isTidy(_ scope: Scope, _ owners: Owners, at now: Date) throws(FilePersistence.Failure) -> Bool {
    try duties(of: scope, owners, Self.seconds(now)).isEmpty
  }

  /// Removes the forms of a scope that have had no entry for ``grace``, and marks the others
  /// without one. Copies that a process has not finished are removed at once, of any scope.
  package func tidy(_ scope: Scope, _ owners: Owners, at now: Date) throws(FilePersistence.Failure) {
    let time = Self.seconds(now)
    for (name, duty) in try duties(of: scope, owners, time) {
      // One that cannot be removed harms nobody, and a reading works on a full disk.
      do throws(FilePersistence.Failure) {
        switch duty {
        case .bringBack: try bringBack(name)
        case .mark: try unlessLocked(name) { path throws(FilePersistence.Failure) in try mark(name, path, time) }
        case .remove: try removeUnlessLocked(name)
        }
      } catch {}
    }
  }

  /// Returns the forms of `scope`, or of every scope if `scope` is `nil`.
  func names(of scope: Scope?) throws(FilePersistence.Failure) -> [Name] {
    try system.list(path, prefix: scope.map(Name.prefix) ?? "").compactMap(Name.init)
  }

  /// A Boolean value that indicates whether there is a directory.
  package var isThere: Bool {
    get throws(FilePersistence.Failure) { try system.inspect(path, followsLink: true) != nil }
  }

  private func bringBack(_ name: Name) throws(FilePersistence.Failure) {
    let kept = path(of: name.with(.kept))
    if name.kind != .kept, try system.inspect(kept) == nil { try system.rename(path(of: name), to: kept) }
  }

  private func mark(_ name: Name, _ path: String, _ time: Int) throws(FilePersistence.Failure) {
    try system.rename(path, to: self.path(of: name.with(.left(time))))
  }

  private func removeUnlessLocked(_ name: Name) throws(FilePersistence.Failure) {
    try unlessLocked(name) { path throws(FilePersistence.Failure) in try system.remove(path) }
  }

  /// Runs `body` with the path of a file that no process is submitting.
  private func unlessLocked(
    _ name: Name, _ body: (String) throws(FilePersistence.Failure) -> Void
  ) throws(FilePersistence.Failure) {
    let path = path(of: name)
    guard let file = try system.open(path) else { return }
    // Another process may have made the file anew since.
    if try Self.locks(file, at: path, system) { try body(path) }
  }

  /// Removes the forms of `scope`, or of every scope if `scope` is `nil`, but some entries' forms.
  /// Copies that are being made end without a file.
  ///
  /// - Parameter kept: Returns the entries whose forms stay, after the forms were listed.
  /// - Returns: The first failure, after removing everything that can be removed.
  /// - Throws: `FilePersistence.Failure` if the directory cannot be read or synchronized.
  @discardableResult package func removeForms(
    of scope: Scope?, keeping kept: () -> Set<UUID>
  ) throws(FilePersistence.Failure) -> FilePersistence.Failure? {
    var (failure, count): (FilePersistence.Failure?, Int) = (nil, 0)
    // A file that is renamed while the directory is listed may be missed under both names. A copy
    // is renamed once, when it is complete, so the second list has it.
    for _ in 0..<2 {
      let names = try names(of: scope)
      let ids = kept()
      for name in names where !ids.contains(name.id) {
        do throws(FilePersistence.Failure) {
          if try system.remove(path(of: name)) { count += 1 }
        } catch { failure = failure ?? error }
      }
    }
    if count > 0 { try system.synchronizeDirectory(path) }
    return failure
  }
}
