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

/// A model made from bytes, and the elements that were left out of it.
public struct Parsed<Model: Sendable>: Sendable {
  public var model: Model
  /// The first elements that were left out, in order, at most ``PrunedElement/limit``; empty where
  /// all were good. An empty array of the server's has none.
  public var pruned: [PrunedElement]
  /// The number of elements that were left out, with those that ``pruned`` does not name.
  public var prunedCount: Int
  /// Members that stand twice in one object; the first was used. At most 16 are named.
  public var duplicates: [String]

  /// - Parameter prunedCount: by default the count of `pruned`.
  public init(_ model: Model, pruned: [PrunedElement] = [], prunedCount: Int? = nil, duplicates: [String] = []) {
    self.model = model
    self.pruned = pruned
    self.prunedCount = prunedCount ?? pruned.count
    self.duplicates = duplicates
  }

  /// The same with its model made another one.
  func map<Other: Sendable>(_ transform: (Model) -> Other) -> Parsed<Other> {
    Parsed<Other>(transform(model), pruned: pruned, prunedCount: prunedCount, duplicates: duplicates)
  }
}

/// An element that was left out of an array.
public struct PrunedElement: Sendable, Hashable {
  /// The number of elements of one body that are named with their errors: 16. The rest is counted.
  public static let limit = 16

  /// Its index in the array as received.
  public var index: Int
  public var error: ParserError

  public init(index: Int, error: ParserError) {
    self.index = index
    self.error = error
  }
}

/// The treatment of an array's malformed elements.
public enum ParsingMode: Sendable, Hashable {
  /// Malformed elements are left out, counted and reported. An array of which no element can be read
  /// is a ``ParserError`` that names the first failure: more likely the model is wrong than all data.
  case prune
  /// Malformed elements are left out, counted and reported, even if none is left.
  case pruneAll
  /// The first malformed element fails the whole.
  case strict
}
