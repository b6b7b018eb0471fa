public import Foundation

extension Parser {
  /// The parser for whatever the model is: ``Mappable``, an array of it, an array of `Decodable`, `Decodable`, or `Void`, in
  /// this order; `Void` ignores the bytes.
  ///
  /// The choice is made here, once; any other model's parser throws `.unsupported`.
  ///
  /// - Parameters:
  ///   - decoder: for `Decodable` models; see ``json(keyPath:decoder:encoder:mode:)``.
  ///   - encoder: likewise.
  public static func automatic(
    keyPath: String? = nil, decoder: JSONDecoder = JSONDecoder(), encoder: JSONEncoder = JSONEncoder(),
    mode: ParsingMode = .prune
  ) -> Parser {
    if let type = Model.self as? any Mappable.Type, let parser = mappable(type, keyPath, mode) { return parser }
    if let type = Model.self as? any MappableArray.Type, let parser = array(type, keyPath, mode) { return parser }
    if let type = Model.self as? any (Decodable & Sendable).Type,
      let parser = json(type, keyPath, decoder, encoder, mode)
    {
      return parser
    }
    if let parser = Parser<Void>.ignoringBytes as? Parser { return parser }
    let error = ParserError(.unsupported, expected: "\(Model.self) is neither Codable nor Mappable")
    return Parser(parse: { _ in throw error }, encode: { _ in throw error })
  }

  private static func mappable<Type: Mappable>(_: Type.Type, _ keyPath: String?, _ mode: ParsingMode) -> Parser? {
    Parser<Type>.mappable(keyPath: keyPath, mode: mode) as? Parser
  }

  private static func array<Type: MappableArray>(_: Type.Type, _ keyPath: String?, _ mode: ParsingMode) -> Parser? {
    Type.parser(keyPath: keyPath, mode: mode) as? Parser
  }

  /// Finds arrays by itself.
  private static func json<Type: Decodable & Sendable>(
    _: Type.Type, _ keyPath: String?, _ decoder: JSONDecoder, _ encoder: JSONEncoder, _ mode: ParsingMode
  ) -> Parser? {
    Parser<Type>.json(keyPath: keyPath, decoder: decoder, encoder: encoder, mode: mode) as? Parser
  }

  /// As a configuration says.
  static func automatic(_ configuration: ReactorConfiguration) -> Parser {
    automatic(decoder: configuration.decoder, encoder: configuration.encoder, mode: configuration.parsing)
  }
}

extension Parser where Model == Void {
  fileprivate static var ignoringBytes: Parser { Parser(parse: { _ in Parsed(()) }, encode: { _ in Data() }) }
}

/// An array whose elements are ``Mappable``.
private protocol MappableArray: Sendable {
  static func parser(keyPath: String?, mode: ParsingMode) -> Parser<Self>
}

extension Array: MappableArray where Element: Mappable {
  static func parser(keyPath: String?, mode: ParsingMode) -> Parser<[Element]> {
    .mappable(keyPath: keyPath, mode: mode)
  }
}
