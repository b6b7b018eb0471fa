package import Foundation
package import HTTPCaching
package import ReactorCore

/// The file of a form that is being submitted. Its process holds the file's lock until the entry is
/// added, so that no other process takes it for one that was left behind.
private final class FormFile: Sendable {
  private let file: OpenFile
  private let path: String
  private let directory: FormDirectory

  init(_ file: consuming OpenFile, at path: String, in directory: FormDirectory) {
    self.file = file
    self.path = path
    self.directory = directory
  }

  /// Writes the form. When the method returns, its bytes survive a power cut.
  func write(_ form: MultipartForm) throws -> KeptForm {
    let boundary = form.makeBoundary()
    try MultipartForm.copying(to: URL(filePath: path)) {
      try form.encode(boundary: boundary, directory.system) { try file.write($0) }
      try file.synchronize()
      try directory.system.synchronizeDirectory(directory.path)
    }
    return KeptForm(contentType: MultipartForm.contentType(boundary: boundary), holding: self) { self.remove() }
  }

  func remove() { _ = try? directory.system.remove(path) }

  /// Returns a Boolean value that indicates whether the file is locked, and still has its name.
  func locks() throws(FilePersistence.Failure) -> Bool {
    guard try file.lock() else { return false }
    return try directory.system.inspect(path)?.identity == file.status().identity
  }
}

/// The directory with the forms of a durable storage, `<scope>.form-<id>` for each entry that has
/// one. `<scope>` is the SHA-256 of the scope's name.
package struct FormDirectory: Sendable {
  let path: String
  let system: FileSystem
  private static let mark = ".form-"

  package init(path: String, system: FileSystem = FileSystem()) { (self.path, self.system) = (path, system) }

  private static func digest(of scope: Scope) -> String { SHA256Digest.hex(Array(scope.name.utf8)) }

  private func path(of id: UUID, in scope: Scope) -> String {
    "\(path)/\(Self.digest(of: scope))\(Self.mark)\(id.uuidString)"
  }

  /// Copies a form, with its files. The caller holds the result until it has added the entry.
  ///
  /// - Throws: `MultipartForm.FileError`, `FilePersistence.Failure`.
  package func keep(_ form: MultipartForm, for id: UUID, in scope: Scope) throws -> KeptForm {
    if try system.inspect(path, followsLink: true) == nil {
      try system.makeDirectory(path, synchronizes: true)
      Self.protect(path)
    }
    let file = try makeFile(at: path(of: id, in: scope))
    do {
      return try file.write(form)
    } catch {
      file.remove()
      throw error
    }
  }

  private func makeFile(at path: String) throws(FilePersistence.Failure) -> FormFile {
    // Another process may take it for one that was left behind before it is locked, but not
    // repeatedly.
    for _ in 0..<8 {
      let file = FormFile(try system.create(path), at: path, in: self)
      if try file.locks() { return file }
      try system.remove(path)
    }
    throw FilePersistence.Failure(operation: .lock, path: path, code: FileSystem.isAbsent)
  }

  /// Returns the form of an entry.
  ///
  /// - Throws: ``FormStorageError`` if somebody has removed the file.
  package func form(of id: UUID, in scope: Scope, contentType: String) throws -> EncodedForm {
    let path = path(of: id, in: scope)
    guard try system.inspect(path)?.isRegular == true else { throw FormStorageError.noForm }
    return try EncodedForm(mapping: URL(filePath: path), contentType: contentType)
  }

  /// Removes the form of an entry that was removed. If that fails, a later reading removes it.
  package func removeForm(of id: UUID, in scope: Scope) { _ = try? system.remove(path(of: id, in: scope)) }

  /// Returns the forms of `scope`, or of every scope if `scope` is `nil`, with the ids of their
  /// entries.
  package func forms(of scope: Scope?) throws(FilePersistence.Failure) -> [(id: UUID, path: String)] {
    var forms: [(id: UUID, path: String)] = []
    for name in try system.list(path, prefix: scope.map { Self.digest(of: $0) + Self.mark } ?? "") {
      let rest = name.dropFirst(64)
      guard rest.hasPrefix(Self.mark), let id = UUID(uuidString: String(rest.dropFirst(Self.mark.count))) else {
        continue
      }
      forms.append((id, "\(path)/\(name)"))
    }
    return forms
  }

  /// Removes the forms of `scope`, or of every scope if `scope` is `nil`, but those of some entries
  /// and those that are being submitted. No entry is added meanwhile.
  ///
  /// - Returns: The first failure, after removing everything that can be removed.
  /// - Throws: `FilePersistence.Failure` if the directory cannot be read.
  @discardableResult package func removeForms(
    of scope: Scope?, keeping ids: Set<UUID>
  ) throws(FilePersistence.Failure) -> FilePersistence.Failure? {
    var failure: FilePersistence.Failure?
    for (id, path) in try forms(of: scope) where !ids.contains(id) {
      do throws(FilePersistence.Failure) {
        guard let opened = try system.open(path) else { continue }
        // Another process may have made the file anew since.
        let file = FormFile(opened, at: path, in: self)
        if try file.locks() { try system.remove(path) }
      } catch {
        failure = failure ?? error
      }
    }
    return failure
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
