public import Foundation

/// Makes a model from bytes, and bytes from a model.
///
/// What ``encode(_:)`` writes, ``parse(_:)`` reads: an envelope included.
public struct Parser<Model: Sendable>: Sendable {
  /// The second parameter is the response's content type; `nil` where it is not known.
  private let parseBytes: @Sendable (Data, String?) throws -> Parsed<Model>
  private let encodeModel: @Sendable (Model) throws -> Data?
  /// Why no bytes can be parsed, where that is known beforehand. Then no request is sent for them.
  let unsupported: ParserError?

  /// - Parameters:
  ///   - parse: an error that is no ``ParserError`` is wrapped in one.
  ///   - encode: `nil` where the model has no representation; by default, none has.
  public init(
    parse: @escaping @Sendable (Data) throws -> Parsed<Model>,
    encode: @escaping @Sendable (Model) throws -> Data? = { _ in nil }
  ) {
    self.init(parse: { data, _ in try parse(data) }, encode: encode)
  }

  init(
    unsupported: ParserError? = nil, parse: @escaping @Sendable (Data, String?) throws -> Parsed<Model>,
    encode: @escaping @Sendable (Model) throws -> Data?
  ) {
    self.unsupported = unsupported
    parseBytes = parse
    encodeModel = encode
  }

  /// A parser that can only say why it cannot parse.
  init(unsupported error: ParserError) {
    self.init(unsupported: error, parse: { _, _ in throw error }, encode: { _ in throw error })
  }

  /// The model in `data`. Runs on the caller's executor and takes as long as the bytes are many.
  public func parse(_ data: Data) throws(ParserError) -> Parsed<Model> { try parse(data, contentType: nil) }

  /// The model in the body of a response.
  ///
  /// - Parameter contentType: the value of its `Content-Type`, of which the charset matters to text.
  func parse(_ data: Data, contentType: String?) throws(ParserError) -> Parsed<Model> {
    do {
      return try parseBytes(data, contentType)
    } catch let error as ParserError {
      throw error
    } catch {
      throw ParserError(.unacceptable, expected: Redaction.describe(error))
    }
  }

  /// The bytes that ``parse(_:)`` makes `model` from; `nil` where it has none (``Mappable`` that gives `.null`).
  public func encode(_ model: Model) throws -> Data? { try encodeModel(model) }
}
