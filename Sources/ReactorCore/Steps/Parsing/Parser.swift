public import Foundation

/// Converts bytes to a model, and a model to bytes.
///
/// ```swift
/// let parser = Parser<[Article]>.json(keyPath: "data.articles")
/// let articles = try parser.parse(body).model
/// ```
///
/// ``parse(_:)`` reads the bytes that ``encode(_:)`` writes. A parser with a key path encodes the
/// objects around the model too.
public struct Parser<Model: Sendable>: Sendable {
  /// The function behind ``parse(_:)``. Its second parameter is the response's content type, or
  /// `nil` if that is unknown.
  private let parseBytes: @Sendable (Data, String?) throws -> Parsed<Model>
  private let encodeModel: @Sendable (Model) throws -> Data?
  /// The error of every call, if it is known beforehand. A flow throws it before it sends a
  /// request.
  let unsupported: ParserError?

  /// Creates a parser from a function for each direction.
  ///
  /// ```swift
  /// let lines = Parser<[String]>(
  ///   parse: { Parsed(String(decoding: $0, as: UTF8.self).components(separatedBy: "\n")) },
  ///   encode: { Data($0.joined(separator: "\n").utf8) })
  /// ```
  ///
  /// - Parameters:
  ///   - parse: Makes a model from bytes. An error other than ``ParserError`` is wrapped in one,
  ///     with the reason ``ParserError/Reason/unacceptable``.
  ///   - encode: Makes bytes that `parse` can read, or `nil` if the model has none. Default: `nil`
  ///     for every model, which keeps local writes in memory only.
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

  /// Creates a parser of JSON in UTF-8, or in the charset of its content type.
  init(
    ofJSON parse: @escaping @Sendable (Data) throws -> Parsed<Model>,
    encode: @escaping @Sendable (Model) throws -> Data?
  ) {
    self.init(parse: { try parse(Charset.json($0, contentType: $1)) }, encode: encode)
  }

  /// Creates a parser that always throws `error`.
  init(unsupported error: ParserError) {
    self.init(unsupported: error, parse: { _, _ in throw error }, encode: { _ in throw error })
  }

  /// Parses `data` into a model.
  ///
  /// ```swift
  /// let parsed = try Parser<[Story]>.automatic().parse(data)
  /// print(parsed.model.count, "stories,", parsed.prunedCount, "malformed")
  /// ```
  ///
  /// The call is synchronous, and its time grows with the number of bytes. A text is read as UTF-8,
  /// since its content type is unknown.
  /// - Throws: A ``ParserError`` with the reason, and with the path and the position if they are
  ///   known.
  public func parse(_ data: Data) throws(ParserError) -> Parsed<Model> { try parse(data, contentType: nil) }

  /// Parses the body of a response into a model.
  ///
  /// - Parameter contentType: The value of `Content-Type`, whose charset applies to text, and to
  ///   JSON that is not UTF-8; `nil` if it is unknown.
  package func parse(_ data: Data, contentType: String?) throws(ParserError) -> Parsed<Model> {
    do {
      return try parseBytes(data, contentType)
    } catch let error as ParserError {
      throw error
    } catch {
      throw ParserError(.unacceptable, expected: Redaction.describe(error))
    }
  }

  /// Returns the bytes from which ``parse(_:)`` makes `model`, or `nil` if the model has none.
  ///
  /// A ``Mappable`` model has none if ``Mappable/mapToJSON()`` returns `.null`. A reactor stores a
  /// model without bytes in memory only, and reports ``ReactorEvent/Kind/notEncoded(_:)``. It does
  /// the same if this method throws.
  /// - Throws: The error of the encoder, or of a custom parser, unchanged.
  ///   ``ParserError/Reason/unsupported`` is the reason if the type of the model cannot be encoded.
  public func encode(_ model: Model) throws -> Data? { try encodeModel(model) }
}

/// A parsed model, with the elements that were pruned from it.
public struct Parsed<Model: Sendable>: Sendable {
  /// The model, without its pruned elements.
  public var model: Model
  /// The pruned elements in order, at most the first ``ParserError/PrunedElement/limit``. Empty if
  /// every element was good, or if the array was empty in the body.
  public var pruned: [ParserError.PrunedElement]
  /// The number of all pruned elements, including those beyond the limit of ``pruned``.
  public var prunedCount: Int
  /// The coding paths of members whose name occurs more than once in their object, at most 16. The
  /// first member of each name was used.
  ///
  /// Always empty for a decoder that accepts more than strict JSON.
  public var duplicates: [String]

  /// Creates a result, as a custom parser returns it.
  ///
  /// - Parameter prunedCount: The number of all pruned elements. Default: the number of `pruned`.
  public init(
    _ model: Model, pruned: [ParserError.PrunedElement] = [], prunedCount: Int? = nil, duplicates: [String] = []
  ) {
    self.model = model
    self.pruned = pruned
    self.prunedCount = prunedCount ?? pruned.count
    self.duplicates = duplicates
  }

  /// Returns the result with its model transformed.
  func map<Other: Sendable>(_ transform: (Model) -> Other) -> Parsed<Other> {
    Parsed<Other>(transform(model), pruned: pruned, prunedCount: prunedCount, duplicates: duplicates)
  }
}

extension ParserError {
  /// A malformed element that was left out of an array.
  public struct PrunedElement: Sendable, Hashable {
    /// The largest number of pruned elements of one body that are listed with their errors: 16.
    /// Further elements are only counted.
    public static let limit = 16

    /// The index of the element in the array as received.
    public var index: Int
    /// The error that made the element malformed, with the path from the root of the body.
    public var error: ParserError

    /// Creates a pruned element, as a custom parser reports it.
    public init(index: Int, error: ParserError) {
      self.index = index
      self.error = error
    }
  }
}

extension ReactorConfiguration {
  /// The treatment of malformed elements of an array.
  ///
  /// ```swift
  /// configuration.parsing = .strict
  /// ```
  ///
  /// The mode applies to the array that is the model, not to arrays inside of a model or an
  /// element. Pruned elements are listed in ``Parsed/pruned``, and a reactor reports them in
  /// ``ReactorEvent/Kind/pruned(_:count:)``.
  public enum ParsingMode: Sendable, Hashable {
    /// Leaves out malformed elements, and throws if every element is malformed.
    ///
    /// The ``ParserError`` comes from the first element. If no element can be read, a fault of the
    /// model is more likely than faults in all the data. An empty array is no error.
    case prune
    /// Leaves out malformed elements, even if no element is left.
    case pruneAll
    /// Throws the error of the first malformed element.
    case strict
  }
}
