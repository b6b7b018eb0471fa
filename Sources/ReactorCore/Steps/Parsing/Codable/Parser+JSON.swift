import FastJSON
public import Foundation

extension Parser where Model: Decodable {
  /// Returns a parser that decodes JSON.
  ///
  /// ```swift
  /// let stories = layer.reactor([Story].self, parser: .json(keyPath: "data.stories"))
  /// ```
  ///
  /// The body must be strict JSON. Bytes after the value, and more than
  /// ``JSONValue/maximumDepth`` levels of nesting, are errors. If an object has two members of one
  /// name, the first counts, and an event reports it.
  ///
  /// The body is read as UTF-8. If it is not, a reactor reads it in the charset that the response's
  /// `Content-Type` names.
  ///
  /// An `Array`, a `ContiguousArray`, a `Set`, or an optional of one is decoded element by element,
  /// so that malformed elements can be pruned.
  ///
  /// The parser throws a ``ParserError`` with the path and the position in the body. Its reason is
  /// ``ParserError/Reason/missing`` for a missing member, and ``ParserError/Reason/wrongType`` for
  /// a value of another type, including null. It is ``ParserError/Reason/unacceptable`` for
  /// corrupted data, and for an error of the model that is neither a `DecodingError` nor a
  /// ``ParserError``. ``ParserError/Reason`` lists the faults of a whole body.
  ///
  /// The class and the options of `decoder` determine how the body is decoded:
  ///
  /// - For a `JSONDecoder`, a `FastJSONDecoder` with the same strategies decodes the body.
  /// - A subclass of `JSONDecoder` decodes the value at the path itself. The body is first checked
  ///   to be strict JSON.
  /// - With `allowsJSON5` or `assumesTopLevelDictionary`, only the decoder reads the body. Errors
  ///   have no position, and duplicate members are not reported.
  ///
  /// - Parameters:
  ///   - keyPath: The path of the model, such as `data.articles`. A number is an index in an array,
  ///     and a name in an object. Names are those in the body, before the `keyDecodingStrategy` is
  ///     applied. A decoder that reads the body alone applies it before it follows the path.
  ///   - decoder: The decoder, which the parser does not change. Several parsers can share it. Do
  ///     not change it afterwards.
  ///   - encoder: The encoder, under the same conditions. For a `JSONEncoder`, a `FastJSONEncoder`
  ///     with the same strategies encodes; a subclass encodes itself. Encoding throws
  ///     ``ParserError/Reason/unsupported`` if the model is not `Encodable`.
  ///   - mode: The treatment of malformed elements, if the model is one of these collections.
  public static func json(
    keyPath: String? = nil, decoder: JSONDecoder = JSONDecoder(), encoder: JSONEncoder = JSONEncoder(),
    mode: ReactorConfiguration.ParsingMode = .prune
  ) -> Parser {
    let decoding = JSONDecoding(path: JSONPath(keyPath: keyPath), decoder: decoder)
    let encoding = FastJSONEncoder.encoding(as: encoder)
    let encode: @Sendable (Model) throws -> Data? = { model in
      guard let encodable = model as? any Encodable else {
        throw ParserError(.unsupported, expected: "\(Model.self) is not Encodable")
      }
      return decoding.path.envelope(try encoding(encodable))
    }
    if let array = Model.self as? any (LossyArray & Sendable).Type,
      let parse = decoding.elementwise(array, mode, as: Model.self)
    {
      return Parser(ofJSON: parse, encode: encode)
    }
    return Parser(ofJSON: { try decoding.whole(Model.self, in: $0) }, encode: encode)
  }
}

/// The decoding of JSON at a path, for any model.
struct JSONDecoding: Sendable {
  let path: JSONPath
  /// The decoder of the program.
  private let decoder: JSONDecoder
  /// A decoder with the same strategies. It parses the body, finds the value at the path and,
  /// unless ``isOwn``, decodes it.
  private let fast: FastJSONDecoder
  /// A Boolean value that indicates whether ``decoder`` is a subclass of `JSONDecoder`. It then
  /// decodes the value itself, once the body has been checked.
  private let isOwn: Bool
  /// A Boolean value that indicates whether ``decoder`` accepts texts that are not strict JSON.
  /// Then only ``decoder`` can read them.
  private let isLenient: Bool

  init(path: JSONPath, decoder: JSONDecoder) {
    self.path = path
    self.decoder = decoder
    fast = FastJSONDecoder(decoder)
    isOwn = type(of: decoder) != JSONDecoder.self
    isLenient = decoder.allowsJSON5 || decoder.assumesTopLevelDictionary
  }

  func whole<Model: Decodable>(_ type: Model.Type, in data: Data) throws(ParserError) -> Parsed<Model> {
    if isLenient { return Parsed(try decodeLeniently(type, from: data)) }
    return try JSONDocument.read(data, path: path, by: fast) { document throws(ParserError) in
      do {
        let model =
          isOwn
          ? try decoder.decode(type, from: document.selected) : try document.tree.decode(type, at: document.value)
        return Parsed(model, duplicates: document.duplicates)
      } catch {
        throw document.error(error)
      }
    }
  }

  /// Returns the function that decodes a collection element by element; `nil` if `Model` is not
  /// `Elements`.
  ///
  /// The existential type of the collection is opened once, here, and not at each call.
  func elementwise<Elements: LossyArray & Sendable, Model>(
    _ elements: Elements.Type, _ mode: ReactorConfiguration.ParsingMode, as model: Model.Type
  ) -> (@Sendable (Data) throws -> Parsed<Model>)? {
    let parse: @Sendable (Data) throws -> Parsed<Elements> = { try self.elements($0, mode) }
    return parse as? @Sendable (Data) throws -> Parsed<Model>
  }

  private func elements<Elements: LossyArray>(
    _ data: Data, _ mode: ReactorConfiguration.ParsingMode
  ) throws(ParserError) -> Parsed<Elements> {
    if isLenient { return try elementsLeniently(data, mode) }
    return try JSONDocument.read(data, path: path, by: fast) { document throws(ParserError) in
      if document.kind == .null, let null = Elements.ofNull {
        return Parsed(null, duplicates: document.duplicates)
      }
      guard document.kind == .array else { throw document.notAnArray }
      let (elements, failures) = try elements(Elements.self, in: document, mode)
      return try document.parsed(Elements(lossyElements: elements), failures, keeping: elements.count, mode)
    }
  }

  private func elements<Elements: LossyArray>(
    _ type: Elements.Type, in document: JSONDocument, _ mode: ReactorConfiguration.ParsingMode
  ) throws(ParserError) -> ([Elements.LossyElement], ElementFailures) {
    if isOwn {
      do {
        let lossy = try decoder.decode(Lossy<Elements>.self, from: document.selected)
        return (lossy.elements, lossy.failures)
      } catch {
        throw document.error(error)
      }
    }
    var failures = ElementFailures()
    let elements = document.tree.elements(Elements.LossyElement.self, of: document.value) { index, error in
      failures.append(index, error)
      return mode != .strict
    }
    return (elements, failures)
  }
}

// MARK: Texts that are not strict JSON

extension JSONDecoding {
  private func elementsLeniently<Elements: LossyArray>(
    _ data: Data, _ mode: ReactorConfiguration.ParsingMode
  ) throws(ParserError) -> Parsed<Elements> {
    let lossy = try decodeLeniently(Lossy<Elements>.self, from: data)
    if lossy.isNull, let null = Elements.ofNull { return Parsed(null) }
    let pruned = lossy.failures.first.map {
      ParserError.PrunedElement(index: $0.index, error: DecodingFailure($0.error).error)
    }
    if let first = pruned.first {
      if mode == .strict { throw first.error }
      if mode == .prune, lossy.elements.isEmpty { throw first.error.ofNone(lossy.failures.count) }
    }
    return Parsed(
      Elements(lossyElements: lossy.elements), pruned: pruned, prunedCount: lossy.failures.count)
  }

  private func decodeLeniently<Model: Decodable>(_ type: Model.Type, from data: Data) throws(ParserError) -> Model {
    guard !data.isEmpty else { throw ParserError.noBytes }
    do {
      return try decoder.decode(JSONEnvelope<Model>.self, from: data, configuration: path).model
    } catch {
      throw DecodingFailure(error).error
    }
  }
}
