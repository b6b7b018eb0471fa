public import Foundation

extension Parser where Model: Decodable {
  /// Decodes JSON; where the model is an array, an `ArraySlice`, a `ContiguousArray` or a `Set`, element
  /// by element.
  ///
  /// The text is first checked to be strict JSON, unless `decoder` allows less (`allowsJSON5`, `assumesTopLevelDictionary`).
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
    let path = JSONPath(keyPath: keyPath)
    let isStrict = !decoder.allowsJSON5 && !decoder.assumesTopLevelDictionary
    let decoding = JSONDecoding(path: path, decoder: decoder, isStrict: isStrict)
    let encode: @Sendable (Model) throws -> Data? = { model in
      guard let encodable = model as? any Encodable else {
        throw ParserError(.unsupported, expected: "\(Model.self) is not Encodable")
      }
      return path.envelope(try encoder.encode(encodable))
    }
    if mode != .strict, let array = Model.self as? any (LossyArray & Sendable).Type,
      let parse = decoding.pruning(array, mode, as: Model.self)
    {
      return Parser(parse: parse, encode: encode)
    }
    return Parser(parse: { try decoding.whole(Model.self, in: $0) }, encode: encode)
  }
}

/// How JSON is decoded, whatever the model.
struct JSONDecoding: Sendable {
  let path: JSONPath
  let decoder: JSONDecoder
  /// A Boolean value that indicates whether the scanner reads the bytes before the decoder does.
  let isStrict: Bool

  func whole<Model: Decodable>(_ type: Model.Type, in data: Data) throws(ParserError) -> Parsed<Model> {
    guard isStrict else { return Parsed(try decodeLeniently(type, from: data)) }
    let document = try document(data)
    do {
      return Parsed(try decoder.decode(type, from: document.selected), duplicates: document.duplicates)
    } catch {
      throw failure(of: type, error, in: document)
    }
  }

  /// The function that prunes, with the array's type opened once and for all.
  func pruning<Array: LossyArray & Sendable, Model>(
    _ array: Array.Type, _ mode: ParsingMode, as model: Model.Type
  ) -> (@Sendable (Data) throws -> Parsed<Model>)? {
    let parse: @Sendable (Data) throws -> Parsed<Array> = { try self.pruned($0, mode) }
    return parse as? @Sendable (Data) throws -> Parsed<Model>
  }

  private func pruned<Elements: LossyArray>(_ data: Data, _ mode: ParsingMode) throws(ParserError) -> Parsed<Elements> {
    guard isStrict else { return try prunedLeniently(data, mode) }
    let document = try document(data)
    let lossy: LossyElements<Elements>
    do {
      lossy = try decoder.decode(Lossy<Elements>.self, from: document.selected).result
    } catch {
      throw document.error(error)
    }
    return try document.parsed(lossy.elements, lossy.failures, keeping: lossy.count, mode)
  }

  private func prunedLeniently<Elements: LossyArray>(
    _ data: Data, _ mode: ParsingMode
  ) throws(ParserError) -> Parsed<Elements> {
    let lossy = try decodeLeniently(Lossy<Elements>.self, from: data).result
    let pruned = lossy.failures.first.map {
      PrunedElement(index: $0.index, error: DecodingFailure($0.error).error)
    }
    if mode == .prune, lossy.count == 0, let first = pruned.first { throw first.error.ofNone(lossy.failures.count) }
    return Parsed(lossy.elements, pruned: pruned, prunedCount: lossy.failures.count)
  }

  private func document(_ data: Data) throws(ParserError) -> JSONDocument {
    var document = try JSONDocument(data, path: path)
    if case .convertFromSnakeCase = decoder.keyDecodingStrategy { document.hasConvertedNames = true }
    return document
  }

  /// The decoder replaces what it cannot place by an error without a path; a second look finds more.
  private func failure<Model: Decodable>(
    of type: Model.Type, _ error: any Error, in document: JSONDocument
  ) -> ParserError {
    if let array = type as? any LossyArray.Type, let first = firstFailure(array, in: document) { return first }
    let caught = (try? decoder.decode(Caught<Model>.self, from: document.selected))?.error
    return document.error(caught ?? error)
  }

  private func firstFailure<Elements: LossyArray>(_ type: Elements.Type, in document: JSONDocument) -> ParserError? {
    guard let first = (try? decoder.decode(FirstFailure<Elements>.self, from: document.selected))?.failure else {
      return nil
    }
    var failures = ElementFailures()
    failures.append(first.index, first.error)
    return document.pruned(failures).first?.error
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
