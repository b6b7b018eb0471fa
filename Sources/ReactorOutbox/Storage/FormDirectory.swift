package import Foundation
package import HTTPCaching
package import ReactorCore

/// The directory with the forms of a durable storage. `<scope>` is the SHA-256 of the scope's name.
///
/// - `<scope>.form-<id>.new` is a form that is being copied, and `<scope>.form-<id>.new-<count>`
///   where that name was taken for a file that was left behind. Its process holds the file's lock.
/// - `<scope>.form-<id>` is the form of an entry. The process that submits it holds the file's lock
///   until the entry is added.
/// - `<scope>.form-<id>.left-<time>` is a form that had no entry at this time, in seconds since
///   1970.
package struct FormDirectory: Sendable {
  let path: String
  let system: FileSystem
  private let claims: FormClaims

  package init(path: String, system: FileSystem = FileSystem(), claims: FormClaims = FormClaims()) {
    (self.path, self.system, self.claims) = (path, system, claims)
  }

  /// A file of the directory, by its name.
  struct Name: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
      /// The number of the attempt to make the file, from 1 on.
      case new(Int)
      case kept
      case left(Int)

      var isNew: Bool { if case .new = self { true } else { false } }
    }

    let scope: String
    let id: UUID
    let kind: Kind

    private static let (mark, new, left) = (".form-", ".new", ".left-")

    init(_ id: UUID, in scope: Scope, _ kind: Kind = .kept) {
      (self.scope, self.id, self.kind) = (SHA256Digest.hex(Array(scope.name.utf8)), id, kind)
    }

    private init(scope: String, id: UUID, _ kind: Kind) { (self.scope, self.id, self.kind) = (scope, id, kind) }

    /// - Returns: `nil` for another file.
    init?(_ text: String) {
      let rest = text.dropFirst(64)
      guard rest.hasPrefix(Self.mark) else { return nil }
      let name = rest.dropFirst(Self.mark.count)
      guard let id = UUID(uuidString: String(name.prefix(36))) else { return nil }
      let suffix = name.dropFirst(36)
      switch suffix {
      case "": kind = .kept
      case Self.new: kind = .new(1)
      default:
        guard let dash = suffix.firstIndex(of: "-"), let number = Int(suffix[suffix.index(after: dash)...]) else {
          return nil
        }
        switch suffix[...dash] {
        case Self.new + "-": kind = .new(number)
        case Self.left: kind = .left(number)
        default: return nil
        }
      }
      (scope, self.id) = (String(text.prefix(64)), id)
    }

    var text: String {
      let suffix =
        switch kind {
        case .kept: ""
        case .new(1): Self.new
        case .new(let count): "\(Self.new)-\(count)"
        case .left(let time): "\(Self.left)\(time)"
        }
      return "\(scope)\(Self.mark)\(id.uuidString)\(suffix)"
    }

    func with(_ kind: Kind) -> Name { Name(scope: scope, id: id, kind) }

    /// The beginning of the names of a scope.
    static func prefix(of scope: Scope) -> String { SHA256Digest.hex(Array(scope.name.utf8)) + mark }
  }

  func path(of name: Name) -> String { "\(path)/\(name.text)" }

  /// Copies a form, with its files. When the method returns, the copy survives a power cut. The
  /// caller holds the result until it has added the entry.
  ///
  /// - Parameters:
  ///   - isUnwanted: See ``FormStorage/keep(_:for:in:unless:)``.
  ///   - locking: Calls its argument, which locks the file and does not block. Nothing else here
  ///     takes a lock: a read of a file to copy may hang.
  ///   - check: Called before each piece. It throws to end the copy.
  /// - Throws: `MultipartForm.FileError`, `FilePersistence.Failure`, ``FormStorageError/removed``,
  ///   the errors of `locking` and of `check`.
  package func keep(
    _ form: MultipartForm, for id: UUID, in scope: Scope, unless isUnwanted: () -> Bool = { false },
    locking: (() throws -> NewForm) throws -> NewForm = { try $0() }, check: () throws -> Void = {}
  ) throws -> KeptForm {
    func goOn() throws {
      try check()
      if isUnwanted() { throw FormStorageError.removed }
    }
    if try system.inspect(path, followsLink: true) == nil {
      try system.makeDirectory(path, synchronizes: true)
      Self.protect(path)
    }
    let name = Name(id, in: scope)
    let kept = path(of: name)
    let boundary = form.makeBoundary()
    let new = try locking { try makeFile(name) }
    do {
      try MultipartForm.copying(to: URL(filePath: kept)) {
        guard let file = try system.open(new.path, writes: true) else { throw FormStorageError.removed }
        try form.encode(boundary: boundary, system, check: goOn) { try file.write($0) }
        try file.synchronize()
        // A removal that begins after this finds the file, under one of its names.
        try goOn()
        try complete(new.path, as: kept)
      }
    } catch {
      for path in [new.path, kept] { _ = try? system.remove(path) }
      throw error
    }
    return KeptForm(contentType: MultipartForm.contentType(boundary: boundary), holding: new.claim) {
      removeForm(of: id, in: scope)
    }
  }

  private func complete(_ new: String, as kept: String) throws {
    do {
      try system.rename(new, to: kept)
    } catch let error where error.code == FileSystem.isAbsent {
      throw FormStorageError.removed
    }
    try system.synchronizeDirectory(path)
  }

  /// A file for the copy of a form.
  package struct NewForm: Sendable {
    let path: String
    let claim: FormClaims.Claim
  }

  /// Creates the file for a copy, and locks it.
  private func makeFile(_ name: Name) throws(FilePersistence.Failure) -> NewForm {
    // Another process may take it for one that was left behind before it is locked, but not
    // repeatedly. It then removes the name, at any time, so the next file has another one.
    for attempt in 1...8 {
      let path = path(of: name.with(.new(attempt)))
      let file = try system.create(path)
      do throws(FilePersistence.Failure) {
        if try Self.locks(file, at: path, system) {
          return NewForm(path: path, claim: claims.add(file, of: name.id))
        }
      } catch {
        _ = try? system.remove(path)
        throw error
      }
      try system.remove(path)
    }
    throw FilePersistence.Failure(operation: .lock, path: path(of: name), code: FileSystem.isAbsent)
  }

  /// Returns a Boolean value that indicates whether the file is locked, and still has its name.
  static func locks(
    _ file: borrowing OpenFile, at path: String, _ system: FileSystem
  ) throws(FilePersistence.Failure) -> Bool {
    guard try file.lock() else { return false }
    return try system.inspect(path)?.identity == file.status().identity
  }

  /// Verifies that no removal has taken the copies of entries that are about to be added. The
  /// caller keeps removals from running meanwhile.
  ///
  /// - Throws: ``FormStorageError/removed``, `FilePersistence.Failure`.
  package func requireForms(of changes: [OutboxChange], in scope: Scope) throws {
    for case .add(let entry) in changes where claims.holds(entry.id) {
      let hasForm = try system.inspect(path(of: Name(entry.id, in: scope))) != nil
      guard try hasForm || !names(of: scope, entry.id).isEmpty else { throw FormStorageError.removed }
    }
  }

  /// Returns the form of an entry.
  ///
  /// - Throws: ``FormStorageError`` if somebody has removed the file.
  package func form(of id: UUID, in scope: Scope, contentType: String) throws -> EncodedForm {
    let name = Name(id, in: scope)
    var path = path(of: name)
    if try system.inspect(path) == nil, let left = try names(of: scope, id).first { path = self.path(of: left) }
    if try system.inspect(path) == nil {
      // Another process may have given it its name back meanwhile.
      path = self.path(of: name)
    }
    guard try system.inspect(path)?.isRegular == true else { throw FormStorageError.noForm }
    return try EncodedForm(mapping: URL(filePath: path), contentType: contentType)
  }

  /// The names of the form of an entry that was not in the store for a time.
  private func names(of scope: Scope, _ id: UUID) throws(FilePersistence.Failure) -> [Name] {
    try system.list(path, prefix: Name(id, in: scope).text).compactMap(Name.init).filter { !$0.kind.isNew }
  }

  /// Removes the form of an entry that was removed. If that fails, a later reading removes it.
  package func removeForm(of id: UUID, in scope: Scope) {
    _ = try? system.remove(path(of: Name(id, in: scope)))
    // One of an entry that was not in the store for a time. What cannot be listed is removed in a
    // week.
    for left in (try? names(of: scope, id)) ?? [] { _ = try? system.remove(path(of: left)) }
  }

  /// Excludes a new directory from backups: a restored outbox would send again what was sent. Its
  /// files can be read after the first unlock, so that an app can send in the background.
  static func protect(_ path: String) {
    #if canImport(Darwin)
      var url = URL(filePath: path, directoryHint: .isDirectory)
      var values = URLResourceValues()
      values.isExcludedFromBackup = true
      try? url.setResourceValues(values)
      #if !os(macOS)
        try? FileManager.default.setAttributes(
          [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: path)
      #endif
    #endif
  }
}
