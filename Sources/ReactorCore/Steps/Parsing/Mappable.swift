import FastJSON
public import Foundation

/// A model with hand-written conversions from and to a ``JSONValue``.
///
/// ``Parser/automatic(keyPath:decoder:encoder:mode:)`` prefers them to a `Decodable` conformance.
///
/// ```swift
/// struct Article: Mappable {
///   let title: String
///   static func mapToModel(_ json: JSONValue) throws -> Article {
///     Article(title: try json.string("title"))
///   }
///   func mapToJSON() -> JSONValue { ["title": .string(title)] }
/// }
/// ```
public protocol Mappable: Sendable {
  /// Returns the model that `json` represents.
  ///
  /// The implementation receives every value at the model's path, including `.null`.
  /// - Throws: Any error makes the model malformed. The accessors of ``JSONValue``, such as
  ///   ``JSONValue/value(_:)``, throw a ``ParserError`` whose path names the member. The parser
  ///   adds the path from the root of the body, and the position. Any other error becomes a
  ///   ``ParserError`` with the reason ``ParserError/Reason/unacceptable``.
  static func mapToModel(_ json: JSONValue) throws -> Self

  /// Returns the JSON from which ``mapToModel(_:)`` makes this model. Default: `.null`.
  ///
  /// A model that returns `.null` cannot be persisted: a local write of it stays in memory.
  func mapToJSON() -> JSONValue
}

extension Mappable {
  /// Returns `.null`, so that the model is not persisted.
  public func mapToJSON() -> JSONValue { .null }
}

extension JSONValue: Mappable {
  /// Returns `json` itself.
  public static func mapToModel(_ json: JSONValue) -> JSONValue { json }
  /// Returns the value itself. `.null` therefore cannot be persisted as a model.
  public func mapToJSON() -> JSONValue { self }
}

extension Parser where Model: Mappable {
  /// Returns a parser that maps JSON with ``Mappable/mapToModel(_:)``.
  ///
  /// ```swift
  /// let articles = layer.reactor(
  ///   Article.self, parser: .mappable(keyPath: "data.article"), configuration: nil)
  /// ```
  ///
  /// - Parameters:
  ///   - keyPath: The path of the model, such as `data.article`. A number is an index in an array,
  ///     and a name in an object. The parser throws ``ParserError/Reason/missing`` if there is no
  ///     value at the path.
  ///   - mode: Ignored, since a single malformed model always fails.
  public static func mappable(keyPath: String? = nil, mode: ReactorConfiguration.ParsingMode = .prune) -> Parser {
    let path = JSONPath(keyPath: keyPath)
    return Parser(
      ofJSON: { data in
        try JSONDocument.read(data, path: path) { document throws(ParserError) in
          do {
            let json = try document.json(at: document.value)
            return Parsed(try Model.mapToModel(json), duplicates: document.duplicates)
          } catch {
            throw document.error(error)
          }
        }
      },
      encode: { model in
        let json = model.mapToJSON()
        return json == .null ? nil : path.envelope(try json.data())
      })
  }
}

extension Parser {
  /// Returns a parser that maps each element of a JSON array with ``Mappable/mapToModel(_:)``.
  ///
  /// The parser throws ``ParserError/Reason/wrongType`` if the value at the path is not an array.
  /// It encodes the array as `nil` if ``Mappable/mapToJSON()`` returns `.null` for any element.
  /// - Parameters:
  ///   - keyPath: The path of the array, such as `data.articles`. A number is an index in an array,
  ///     and a name in an object.
  ///   - mode: The treatment of an element whose mapping throws.
  public static func mappable<Element: Mappable>(
    keyPath: String? = nil, mode: ReactorConfiguration.ParsingMode = .prune
  ) -> Parser where Model == [Element] {
    let path = JSONPath(keyPath: keyPath)
    return Parser(
      ofJSON: { data in
        try JSONDocument.read(data, path: path) { document throws(ParserError) in try document.models(mode: mode) }
      },
      encode: { models in
        let json = models.map { $0.mapToJSON() }
        return json.contains(.null) ? nil : path.envelope(try JSONValue.array(json).data())
      })
  }
}

extension JSONDocument {
  /// Maps each element of the array at the path.
  fileprivate func models<Element: Mappable>(mode: ReactorConfiguration.ParsingMode) throws(ParserError) -> Parsed<
    [Element]
  > {
    guard kind == .array else { throw notAnArray }
    var models: [Element] = []
    var failures = ElementFailures()
    models.reserveCapacity(tree.count(of: value))
    for (index, element) in tree.elements(of: value) {
      do {
        models.append(try Element.mapToModel(try json(at: element)))
      } catch {
        failures.append(index, error)
        if mode == .strict { break }
      }
    }
    return try parsed(models, failures, keeping: models.count, mode)
  }
}

extension Parser where Model == Data {
  /// A parser that returns the body as received, even if it is empty. It throws no errors.
  ///
  /// ```swift
  /// let images = layer.reactor(Data.self, parser: .bytes, configuration: nil)
  /// let cover = try await images.fetch("cover.png")
  /// ```
  public static var bytes: Parser { Parser(parse: { Parsed($0) }, encode: { $0 }) }
}

extension Parser where Model == String {
  /// A parser that returns the body as text, in the charset of its content type, or else in UTF-8.
  ///
  /// ```swift
  /// let texts = layer.reactor(String.self, parser: .text, configuration: nil)
  /// let readme = try await texts.fetch("README.md")
  /// ```
  ///
  /// A UTF-8 byte order mark is removed. The parser reads UTF-8, UTF-16, UTF-32, US-ASCII,
  /// ISO-8859-1 and -2, Windows-1250 to -1254, EUC-JP, Shift_JIS and ISO-2022-JP. It encodes in
  /// UTF-8.
  ///
  /// It throws ``ParserError/Reason/unacceptable`` for any other charset, and for bytes that are
  /// invalid in the charset. An empty body is an empty string.
  public static var text: Parser {
    Parser(
      parse: { data, contentType in Parsed(try Charset(contentType: contentType).text(data)) },
      encode: { Data($0.utf8) })
  }
}
