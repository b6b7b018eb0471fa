import FastJSON
public import Foundation

extension Parser {
  /// Returns the parser for `Model`, by the first row that matches its type:
  ///
  /// ```swift
  /// let stories = layer.reactor([Story].self, parser: .automatic(keyPath: "data.stories"))
  /// ```
  ///
  /// | model | parsed from |
  /// | --- | --- |
  /// | `Data` | the body as received |
  /// | `String` | the body as text, in the charset of its content type or UTF-8 |
  /// | `Void` | anything; the body is ignored, as of a 204 |
  /// | ``Mappable`` | JSON |
  /// | a collection of ``Mappable`` | a JSON array, element by element |
  /// | a collection of `Decodable` | a JSON array, element by element |
  /// | `Decodable` | JSON |
  /// | an `Optional` of any of them, except `Void` and collections that are only ``Mappable`` | the same; `nil` for an empty body, and for null if it is parsed from JSON |
  ///
  /// A collection is an `Array`, a `ContiguousArray` or a `Set`. For ``Mappable`` elements, it can
  /// also be an `ArraySlice`, which is not `Decodable`. An optional ``Mappable`` is `nil` for null
  /// only if ``Mappable/mapToModel(_:)`` throws for it.
  ///
  /// A `String` or `Data` model is the body itself. To read a JSON string, or base64 in one, use
  /// ``Parser/json(keyPath:decoder:encoder:mode:)``.
  ///
  /// The parser of any other type throws ``ParserError/Reason/unsupported``. A reactor with such a
  /// parser fails each fetch with that error before it sends a request.
  ///
  /// - Parameters:
  ///   - keyPath: The path of the model in JSON, such as `data.articles`. It has no effect on
  ///     `Data`, `String` and `Void`.
  ///   - decoder: The decoder of `Decodable` models; see ``json(keyPath:decoder:encoder:mode:)``.
  ///   - encoder: The encoder of `Decodable` models that are `Encodable` too.
  ///   - mode: The treatment of malformed elements, if the model is a collection.
  public static func automatic(
    keyPath: String? = nil, decoder: JSONDecoder = JSONDecoder(), encoder: JSONEncoder = JSONEncoder(),
    mode: ReactorConfiguration.ParsingMode = .prune
  ) -> Parser {
    if let parser = raw { return parser }
    if let type = Model.self as? any Mappable.Type, let parser = mappable(type, keyPath, mode) { return parser }
    if let type = Model.self as? any MappableModel.Type, let parser = mappableModel(type, keyPath, mode) {
      return parser
    }
    if let type = Model.self as? any (Decodable & Nilable & Sendable).Type,
      let parser = nilable(type, keyPath, decoder, encoder, mode)
    {
      return parser
    }
    if let type = Model.self as? any (Decodable & Sendable).Type,
      let parser = json(type, keyPath, decoder, encoder, mode)
    {
      return parser
    }
    return Parser(
      unsupported: ParserError(
        .unsupported,
        expected:
          "\(Model.self) is neither Codable nor Mappable; conform it to one of them, or pass a parser to its reactor"))
  }

  /// The parser of a type that is not read from JSON; `nil` for any other type.
  private static var raw: Parser? {
    let parsers: [any Sendable] = [
      Parser<Data>.bytes, Parser<Data?>(Parser<Data>.bytes, nullAt: nil), Parser<String>.text,
      Parser<String?>(Parser<String>.text, nullAt: nil), Parser<Void>.ignoringBytes,
    ]
    return parsers.lazy.compactMap { $0 as? Parser }.first
  }

  private static func mappable<Type: Mappable>(
    _: Type.Type, _ keyPath: String?, _ mode: ReactorConfiguration.ParsingMode
  ) -> Parser? {
    Parser<Type>.mappable(keyPath: keyPath, mode: mode) as? Parser
  }

  private static func mappableModel<Type: MappableModel>(
    _: Type.Type, _ keyPath: String?, _ mode: ReactorConfiguration.ParsingMode
  ) -> Parser? {
    Type.parser(keyPath: keyPath, mode: mode) as? Parser
  }

  /// Returns the parser of an optional `Decodable` type. The decoder reads null; an empty body is
  /// `nil` here.
  private static func nilable<Type: Decodable & Nilable & Sendable>(
    _: Type.Type, _ keyPath: String?, _ decoder: JSONDecoder, _ encoder: JSONEncoder,
    _ mode: ReactorConfiguration.ParsingMode
  ) -> Parser? {
    let parser = Parser<Type>.json(keyPath: keyPath, decoder: decoder, encoder: encoder, mode: mode)
    return Parser<Type>(
      parse: { $0.isEmpty ? Parsed(.none) : try parser.parse($0, contentType: $1) }, encode: parser.encode) as? Parser
  }

  /// Returns the parser of a `Decodable` type. ``json(keyPath:decoder:encoder:mode:)`` detects
  /// collections.
  private static func json<Type: Decodable & Sendable>(
    _: Type.Type, _ keyPath: String?, _ decoder: JSONDecoder, _ encoder: JSONEncoder,
    _ mode: ReactorConfiguration.ParsingMode
  ) -> Parser? {
    Parser<Type>.json(keyPath: keyPath, decoder: decoder, encoder: encoder, mode: mode) as? Parser
  }

  /// Returns the parser for `Model` with the coders and the parsing mode of `configuration`.
  package static func automatic(_ configuration: ReactorConfiguration) -> Parser {
    automatic(decoder: configuration.decoder, encoder: configuration.encoder, mode: configuration.parsing)
  }
}

extension Parser where Model == Void {
  fileprivate static var ignoringBytes: Parser { Parser(parse: { _ in Parsed(()) }, encode: { _ in Data() }) }
}

/// An `Optional` of any type, for a cast at run time.
private protocol Nilable {
  static var none: Self { get }
}

extension Optional: Nilable {}

extension Parser {
  /// Creates a parser of an optional model, which encodes `nil` as no bytes.
  ///
  /// - Parameters:
  ///   - wrapped: The parser of a model that is not `nil`. It runs first, so it may read null
  ///     itself.
  ///   - path: The path at which null means `nil`; `nil` if the model is not read from JSON.
  fileprivate init<Wrapped: Sendable>(_ wrapped: Parser<Wrapped>, nullAt path: JSONPath?) where Model == Wrapped? {
    self.init(
      parse: { data, contentType in
        guard !data.isEmpty else { return Parsed(nil) }
        do throws(ParserError) {
          return try wrapped.parse(data, contentType: contentType).map(Wrapped?.some)
        } catch {
          guard let path, JSONDocument.isNull(at: path, in: data) else { throw error }
          return Parsed(nil)
        }
      },
      encode: { model in
        guard let model else { return Data() }
        return try wrapped.encode(model)
      })
  }
}

extension JSONDocument {
  fileprivate static func isNull(at path: JSONPath, in data: Data) -> Bool {
    (try? read(data, path: path) { document throws(ParserError) in document.kind == .null }) ?? false
  }
}

/// A collection or an optional of ``Mappable`` models, for a cast at run time.
private protocol MappableModel: Sendable {
  static func parser(keyPath: String?, mode: ReactorConfiguration.ParsingMode) -> Parser<Self>
}

extension MappableModel {
  fileprivate static func parser<Element: Mappable>(
    _ keyPath: String?, _ mode: ReactorConfiguration.ParsingMode, make: @escaping @Sendable ([Element]) -> Self,
    elements: @escaping @Sendable (Self) -> [Element]
  ) -> Parser<Self> {
    let array = Parser<[Element]>.mappable(keyPath: keyPath, mode: mode)
    return Parser<Self>(
      parse: { try array.parse($0, contentType: $1).map(make) }, encode: { try array.encode(elements($0)) })
  }
}

extension Array: MappableModel where Element: Mappable {
  static func parser(keyPath: String?, mode: ReactorConfiguration.ParsingMode) -> Parser<[Element]> {
    .mappable(keyPath: keyPath, mode: mode)
  }
}

extension ArraySlice: MappableModel where Element: Mappable {
  static func parser(keyPath: String?, mode: ReactorConfiguration.ParsingMode) -> Parser<ArraySlice> {
    parser(keyPath, mode, make: { ArraySlice($0) }, elements: { Array($0) })
  }
}

extension ContiguousArray: MappableModel where Element: Mappable {
  static func parser(keyPath: String?, mode: ReactorConfiguration.ParsingMode) -> Parser<ContiguousArray> {
    parser(keyPath, mode, make: { ContiguousArray($0) }, elements: { Array($0) })
  }
}

extension Set: MappableModel where Element: Mappable {
  static func parser(keyPath: String?, mode: ReactorConfiguration.ParsingMode) -> Parser<Set> {
    parser(keyPath, mode, make: { Set($0) }, elements: { Array($0) })
  }
}

extension Optional: MappableModel where Wrapped: Mappable {
  static func parser(keyPath: String?, mode: ReactorConfiguration.ParsingMode) -> Parser<Wrapped?> {
    Parser<Wrapped?>(.mappable(keyPath: keyPath, mode: mode), nullAt: JSONPath(keyPath: keyPath))
  }
}
