import FastJSON
public import Foundation

extension Parser where Model: Decodable {
  /// Decodes JSON; where the model is an array, a `ContiguousArray` or a `Set`, element by element.
  ///
  /// The work is done by a `FastJSONDecoder` with the strategies of `decoder`. Where that is of a class of your own, it decodes
  /// itself, after the text has been checked to be strict JSON; and where it allows less (`allowsJSON5`,
  /// `assumesTopLevelDictionary`) without that, and its errors have no position.
  /// - Parameters:
  ///   - keyPath: leads to the model, `data.articles`; a number is an index in an array and a name in an object. Names are
  ///     those in the bytes, before the decoder's `keyDecodingStrategy`.
  ///   - decoder: not changed, so it can be shared; must not be changed afterwards either.
  ///   - encoder: likewise. A model that is not `Encodable` cannot be encoded: `.unsupported`.
  ///   - mode: the treatment of a malformed element, where the model is one of these collections.
  public static func json(
    keyPath: String? = nil, decoder: JSONDecoder = JSONDecoder(), encoder: JSONEncoder = JSONEncoder(),
    mode: ParsingMode = .prune
  ) -> Parser {
    let decoding = JSONDecoding(path: JSONPath(keyPath: keyPath), decoder: decoder)
    let encode: @Sendable (Model) throws -> Data? = { model in
      guard let encodable = model as? any Encodable else {
        throw ParserError(.unsupported, expected: "\(Model.self) is not Encodable")
      }
      return decoding.path.envelope(try encoder.encode(encodable))
    }
    if let array = Model.self as? any (LossyArray & Sendable).Type,
      let parse = decoding.elementwise(array, mode, as: Model.self)
    {
      return Parser(parse: parse, encode: encode)
    }
    return Parser(parse: { try decoding.whole(Model.self, in: $0) }, encode: encode)
  }
}

/// How JSON is decoded, whatever the model.
struct JSONDecoding: Sendable {
  let path: JSONPath
  /// The decoder that the program has set up.
  private let decoder: JSONDecoder
  /// One with its strategies, which also finds what is at the path.
  private let fast: FastJSONDecoder
  /// The program's own class of decoders, which decodes the text that has been checked.
  private let isOwn: Bool
  /// The decoder reads texts that are not strict JSON, so that it alone can.
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

  /// The function that decodes element by element, with the collection's type opened once and for all.
  func elementwise<Elements: LossyArray & Sendable, Model>(
    _ elements: Elements.Type, _ mode: ParsingMode, as model: Model.Type
  ) -> (@Sendable (Data) throws -> Parsed<Model>)? {
    let parse: @Sendable (Data) throws -> Parsed<Elements> = { try self.elements($0, mode) }
    return parse as? @Sendable (Data) throws -> Parsed<Model>
  }

  private func elements<Elements: LossyArray>(
    _ data: Data, _ mode: ParsingMode
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
    _ type: Elements.Type, in document: JSONDocument, _ mode: ParsingMode
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
    _ data: Data, _ mode: ParsingMode
  ) throws(ParserError) -> Parsed<Elements> {
    let lossy = try decodeLeniently(Lossy<Elements>.self, from: data)
    if lossy.isNull, let null = Elements.ofNull { return Parsed(null) }
    let pruned = lossy.failures.first.map {
      PrunedElement(index: $0.index, error: DecodingFailure($0.error).error)
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
