public import Foundation

/// Makes a model from bytes, and bytes from a model.
///
/// What ``encode(_:)`` writes, ``parse(_:)`` reads: an envelope included.
public struct Parser<Model: Sendable>: Sendable {
  private let parseBytes: @Sendable (Data) throws -> Parsed<Model>
  private let encodeModel: @Sendable (Model) throws -> Data?

  /// - Parameters:
  ///   - parse: an error that is no ``ParserError`` is wrapped in one.
  ///   - encode: `nil` where the model has no representation; by default, none has.
  public init(
    parse: @escaping @Sendable (Data) throws -> Parsed<Model>,
    encode: @escaping @Sendable (Model) throws -> Data? = { _ in nil }
  ) {
    parseBytes = parse
    encodeModel = encode
  }

  /// The model in `data`. Runs on the caller's executor and takes as long as the bytes are many.
  public func parse(_ data: Data) throws(ParserError) -> Parsed<Model> {
    do {
      return try parseBytes(data)
    } catch let error as ParserError {
      throw error
    } catch {
      throw ParserError(.unacceptable, expected: Redaction.describe(error))
    }
  }

  /// The bytes that ``parse(_:)`` makes `model` from; `nil` where it has none (``Mappable`` that gives `.null`).
  public func encode(_ model: Model) throws -> Data? { try encodeModel(model) }
}
