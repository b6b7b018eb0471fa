import Foundation
package import HTTPCaching
import HTTPTypes

/// The format of RFC 7578 and RFC 2046 §5.1.
extension MultipartForm {
  /// A random boundary that no part in memory contains. Files are not searched: their bytes cannot
  /// depend on it.
  package func makeBoundary() -> String {
    while true {
      // At most 70 characters, none of which needs quotes in a header field (RFC 2046 §5.1.1).
      let boundary = "Reactor-\(UUID().uuidString)"
      let line = Data(boundary.utf8)
      let occurs = parts.contains { part in
        if case .data(let data) = part.content { data.range(of: line) != nil } else { false }
      }
      if !occurs { return boundary }
    }
  }

  /// Returns the `Content-Type` of a form with a boundary.
  package static func contentType(boundary: String) -> String { "multipart/form-data; boundary=\(boundary)" }

  /// A Boolean value that indicates whether a part is a file on disk.
  package var hasFiles: Bool {
    parts.contains { if case .file = $0.content { true } else { false } }
  }

  /// Passes the bytes of the form to `put`, in pieces of at most 256 KiB where they come from a
  /// file.
  ///
  /// - Parameter check: Called before each piece of a file. It throws to end the copy.
  /// - Throws: ``FileError``, `ReactorError/invalidResource(_:)`, and the errors of `check` and
  ///   `put`.
  package func encode(
    boundary: String, _ system: FileSystem, check: () throws -> Void = {},
    _ put: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    for part in parts {
      try Self.put(try part.head(boundary: boundary), put)
      switch part.content {
      case .data(let data): try data.withUnsafeBytes(put)
      case .file(let file):
        let failure = try Self.failure(copying: file, system, check, put)
        if let failure { throw FileError(part: part.name, file: file, reason: failure) }
      }
      try Self.put("\r\n", put)
    }
    try Self.put("--\(boundary)--\r\n", put)
  }

  private static func put(_ text: String, _ put: (UnsafeRawBufferPointer) throws -> Void) throws {
    try Array(text.utf8).withUnsafeBytes(put)
  }

  /// Copies a file, and returns the reason why it cannot be read; `nil` if it was copied.
  private static func failure(
    copying url: URL, _ system: FileSystem, _ check: () throws -> Void,
    _ put: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> FileError.Reason? {
    guard let path = FileSystem.path(of: url) else { return .unreadable("its URL is not a file URL") }
    do {
      guard let file = try system.open(path) else { return .missing }
      let status = try file.status()
      guard status.isRegular else { return .unreadable("it is not a regular file") }
      var count = 0
      while count < status.size {
        try check()
        let piece = try file.read(min(pieceSize, status.size - count), at: count)
        guard !piece.isEmpty else { return .changed }
        try piece.withUnsafeBytes(put)
        count += piece.count
      }
      // A file that grows would otherwise be sent without its end.
      return try file.read(1, at: count).isEmpty ? nil : .changed
    } catch let error as FilePersistence.Failure where error.path == path {
      return .unreadable(FileSystem.text(of: error.code))
    }
  }

  private static let pieceSize = 256 << 10
}

extension MultipartForm.Part {
  /// The lines before the part's bytes (RFC 7578 §4.2).
  fileprivate func head(boundary: String) throws(ReactorError) -> String {
    var head = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.quoted(name))\""
    if let fileName { head += "; filename=\"\(Self.quoted(fileName))\"" }
    if let contentType {
      guard !contentType.isEmpty, HTTPField.isValidValue(contentType) else {
        throw .invalidResource("the content type of the part \(name) is not valid; use one such as image/jpeg")
      }
      head += "\r\nContent-Type: \(contentType)"
    }
    return head + "\r\n\r\n"
  }

  /// Returns a name as browsers send it (the WHATWG's HTML, *multipart/form-data*): quotation marks
  /// and line ends are percent-encoded, and here the other control characters too.
  private static func quoted(_ name: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in name.utf8 {
      if byte < 0x20 || byte == 0x7F || byte == UInt8(ascii: "\"") {
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
