package import Foundation
package import HTTPCaching

/// The bytes of a form, which each attempt sends. With files among its parts, they are in a file
/// that is mapped into memory. A class, since the code that copies a value weighs more.
package final class EncodedForm: Sendable {
  package let body: Data
  /// The media type, with the boundary.
  package let contentType: String

  private init(body: Data, contentType: String) {
    self.body = body
    self.contentType = contentType
  }

  /// Reads a file with the bytes of a form. It must not change while the form is used.
  package convenience init(mapping file: URL, contentType: String) throws {
    self.init(body: try Data(contentsOf: file, options: .alwaysMapped), contentType: contentType)
  }

  /// Encodes a form, in a temporary file if some of its parts are files. The file has no name while
  /// it is written and used, so it is gone with the form and with the process.
  ///
  /// - Throws: ``MultipartForm/FileError``, `ReactorError`, `CancellationError`.
  @concurrent package static func encoding(
    _ form: MultipartForm, _ system: FileSystem = FileSystem()
  ) async throws -> EncodedForm {
    let boundary = form.makeBoundary()
    let contentType = MultipartForm.contentType(boundary: boundary)
    guard form.hasFiles else {
      var body = Data()
      try form.encode(boundary: boundary, system) { body.append(contentsOf: $0) }
      return EncodedForm(body: body, contentType: contentType)
    }
    let file = FileManager.default.temporaryDirectory.appending(path: "reactor-form-\(UUID().uuidString)")
    return try await FileCopies.shared.run { check in
      let body = try MultipartForm.copying(to: file) {
        let path = FileSystem.path(of: file) ?? ""
        let copy = try system.create(path, reads: true)
        try system.remove(path)
        try form.encode(boundary: boundary, system, check: check) { try copy.write($0) }
        return try copy.map()
      }
      return EncodedForm(body: body, contentType: contentType)
    }
  }
}

extension MultipartForm {
  /// Runs `body`, which copies a form to a file, and says so if that fails.
  package static func copying<Value>(to file: URL, _ body: () throws -> Value) throws -> Value {
    do {
      return try body()
    } catch let error as FilePersistence.Failure {
      throw FileError(part: nil, file: file, reason: .notCopied(FileSystem.text(of: error.code)))
    }
  }
}
