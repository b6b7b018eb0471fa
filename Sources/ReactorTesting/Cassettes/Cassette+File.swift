public import Foundation

extension Cassette {
  /// Reads a cassette's file.
  ///
  /// - Throws: ``CassetteError``: there is no file, it is malformed, or of another version.
  public init(contentsOf file: URL) throws(CassetteError) {
    let data: Data
    do { data = try Data(contentsOf: file) } catch { throw .unreadable(file: file.path, reason: "\(error)") }
    try self.init(data)
  }

  /// - Throws: ``CassetteError``: the bytes are malformed, or of another version.
  public init(_ data: Data) throws(CassetteError) {
    do {
      self = try JSONDecoder().decode(Self.self, from: data)
    } catch let error as CassetteError {
      throw error
    } catch let error as DecodingError {
      throw CassetteError(error)
    } catch {
      throw .malformed(path: "", reason: "\(error)")
    }
  }

  /// Writes the cassette's file, whole or not at all; its directory is made where there is none.
  ///
  /// - Throws: the file system's errors.
  public func write(to file: URL) throws {
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try data().write(to: file, options: .atomic)
  }

  /// The file's bytes.
  func data() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(self) + Data("\n".utf8)
  }
}
