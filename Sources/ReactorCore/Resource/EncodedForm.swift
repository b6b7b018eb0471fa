package import Foundation
import HTTPCaching

/// The bytes of a form, which each attempt sends. With files among its parts, they are in a file
/// that is mapped into memory. A class, since the code that copies a value weighs more.
package final class EncodedForm: Sendable {
  /// The form of the request that the current task sends.
  @TaskLocal package static var current: EncodedForm?

  package let body: Data
  /// The media type, with the boundary.
  package let contentType: String
  private let file: URL?

  /// Reads a file with the bytes of a form. It must not change while the form is used.
  package init(mapping file: URL, contentType: String) throws {
    body = try Data(contentsOf: file, options: .alwaysMapped)
    self.contentType = contentType
    self.file = file
  }

  /// Encodes a form, in a temporary file if some of its parts are files. The caller removes it.
  ///
  /// - Throws: ``MultipartForm/FileError``, `ReactorError`, `CancellationError`.
  @concurrent package static func encoding(_ form: MultipartForm) async throws -> EncodedForm {
    let boundary = form.makeBoundary()
    let contentType = MultipartForm.contentType(boundary: boundary)
    guard form.hasFiles else {
      var body = Data()
      try form.encode(boundary: boundary, FileSystem()) { body.append(contentsOf: $0) }
      return EncodedForm(body: body, contentType: contentType)
    }
    let file = FileManager.default.temporaryDirectory.appending(path: "reactor-form-\(UUID().uuidString)")
    do {
      try form.encode(boundary: boundary, to: file, FileSystem())
      return try EncodedForm(mapping: file, contentType: contentType)
    } catch {
      remove(file)
      throw error
    }
  }

  private init(body: Data, contentType: String) {
    self.body = body
    self.contentType = contentType
    file = nil
  }

  /// Removes the temporary file. The bytes stay valid.
  package func remove() { if let file { Self.remove(file) } }

  private static func remove(_ file: URL) {
    // The system empties the directory too.
    if let path = FileSystem.path(of: file) { _ = try? FileSystem().remove(path) }
  }

  /// Returns the file with the bytes of `body`; `nil` if a middleware has replaced them, if they
  /// are in no file, or if the system has removed the temporary file, whose bytes stay mapped.
  package func file(of body: Data?) -> URL? {
    guard let file, let body, body.count == self.body.count else { return nil }
    let isSame = body.withUnsafeBytes { one in self.body.withUnsafeBytes { $0.baseAddress == one.baseAddress } }
    return isSame && FileManager.default.fileExists(atPath: file.path(percentEncoded: false)) ? file : nil
  }
}

extension MultipartForm {
  /// Writes the form into a new file, for its owner alone.
  ///
  /// - Throws: the errors of ``encode(boundary:_:_:)``; ``FileError`` if the file cannot be
  ///   written.
  func encode(boundary: String, to file: URL, _ system: FileSystem) throws {
    try Self.copying(to: file) {
      var copy = try system.create(FileSystem.path(of: file) ?? "")
      try encode(boundary: boundary, system) { try copy.write($0) }
      try copy.close()
    }
  }

  /// Runs `body`, which copies a form to a file, and says so if that fails.
  package static func copying<Value>(to file: URL, _ body: () throws -> Value) throws -> Value {
    do {
      return try body()
    } catch let error as FilePersistence.Failure {
      throw FileError(part: nil, file: file, reason: .notCopied(FileSystem.text(of: error.code)))
    }
  }
}
