public import Foundation

extension Cassette {
  /// Reads a cassette from a file.
  ///
  /// ```swift
  /// var cassette = try Cassette(contentsOf: file)
  /// cassette.exchanges.removeLast()
  /// try cassette.write(to: file)
  /// ```
  ///
  /// - Throws: ``CassetteError``, if the file is missing, unreadable, malformed, or of another
  ///   version.
  public init(contentsOf file: URL) throws(CassetteError) {
    let data: Data
    do { data = try Data(contentsOf: file) } catch { throw .unreadable(file: file.path, reason: "\(error)") }
    try self.init(data)
  }

  /// Decodes a cassette from the contents of a file.
  ///
  /// - Throws: ``CassetteError``, if the data is malformed, or of another version.
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

  /// Writes the cassette to a file atomically. Missing directories are created.
  ///
  /// - Throws: The errors of the file system.
  public func write(to file: URL) throws {
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try data().write(to: file, options: .atomic)
  }

  /// Returns the contents of the cassette's file.
  func data() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(self) + Data("\n".utf8)
  }
}
