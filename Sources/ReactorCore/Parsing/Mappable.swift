import FastJSON
public import Foundation

/// A model that is made from a ``JSONValue`` by hand.
///
/// ```swift
/// struct Article: Mappable {
///   let title: String
///   static func mapToModel(_ json: JSONValue) throws -> Article { Article(title: try json.string("title")) }
///   func mapToJSON() -> JSONValue { ["title": .string(title)] }
/// }
/// ```
public protocol Mappable: Sendable {
  /// Any error makes the model malformed; a ``ParserError``, as ``JSONValue``'s members throw, also says where.
  static func mapToModel(_ json: JSONValue) throws -> Self

  /// What ``mapToModel(_:)`` makes this model from; `.null`, the default: it cannot be persisted.
  func mapToJSON() -> JSONValue
}

extension Mappable {
  public func mapToJSON() -> JSONValue { .null }
}

extension JSONValue: Mappable {
  public static func mapToModel(_ json: JSONValue) -> JSONValue { json }
  public func mapToJSON() -> JSONValue { self }
}

extension Parser where Model: Mappable {
  /// Maps JSON by ``Mappable/mapToModel(_:)``.
  ///
  /// - Parameters:
  ///   - keyPath: leads to the model, `data.article`; a number is an index in an array and a name in an object.
  ///   - mode: as for arrays; one model that is malformed fails in either.
  public static func mappable(keyPath: String? = nil, mode: ParsingMode = .prune) -> Parser {
    let path = JSONPath(keyPath: keyPath)
    return Parser { data in
      try JSONDocument.read(data, path: path) { document throws(ParserError) in
        do {
          let json = try document.json(at: document.value)
          return Parsed(try Model.mapToModel(json), duplicates: document.duplicates)
        } catch {
          throw document.error(error)
        }
      }
    } encode: { model in
      let json = model.mapToJSON()
      return json == .null ? nil : path.envelope(try json.data())
    }
  }
}

extension Parser {
  /// Maps an array of models, element by element.
  ///
  /// Where one of them has no JSON (``Mappable/mapToJSON()`` gives `.null`), the array has none.
  /// - Parameter mode: the treatment of an element whose mapping throws.
  public static func mappable<Element: Mappable>(
    keyPath: String? = nil, mode: ParsingMode = .prune
  ) -> Parser where Model == [Element] {
    let path = JSONPath(keyPath: keyPath)
    return Parser { data in
      try JSONDocument.read(data, path: path) { document throws(ParserError) in try document.models(mode: mode) }
    } encode: { models in
      let json = models.map { $0.mapToJSON() }
      return json.contains(.null) ? nil : path.envelope(try JSONValue.array(json).data())
    }
  }
}

extension JSONDocument {
  /// The elements of the array at the path, each mapped by itself.
  fileprivate func models<Element: Mappable>(mode: ParsingMode) throws(ParserError) -> Parsed<[Element]> {
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
  /// The body as received, whatever it is; also no bytes at all.
  public static var bytes: Parser { Parser(parse: { Parsed($0) }, encode: { $0 }) }
}

extension Parser where Model == String {
  /// The body as text, without a byte order mark.
  ///
  /// The charset is that of the response's content type, else UTF-8. Text is encoded as UTF-8.
  /// - Throws: `.unacceptable` for a charset that is not known, and for bytes that are no text in it.
  public static var text: Parser {
    Parser(
      parse: { data, contentType in Parsed(try Charset(contentType: contentType).text(data)) },
      encode: { Data($0.utf8) })
  }
}

/// A way to write text in bytes, by its name at IANA.
private struct Charset {
  let name: String

  /// - Parameter contentType: `text/plain; charset="utf-8"`, of which the parameter counts.
  init(contentType: String?) {
    let parameters = contentType?.split(separator: ";").dropFirst().lazy.map { parameter in
      parameter.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
    }
    let charset = parameters?.first { $0.count == 2 && $0[0].lowercased() == "charset" }?[1]
    name = charset?.trimmingCharacters(in: CharacterSet(charactersIn: "\"")).lowercased() ?? "utf-8"
  }

  func text(_ data: Data) throws(ParserError) -> String {
    guard let encoding = Self.encodings[name] else {
      throw ParserError(.unacceptable, expected: "expected text in a charset that is known, found \(name)")
    }
    let isUTF8 = encoding == .utf8
    let bytes = isUTF8 && data.starts(with: [0xEF, 0xBB, 0xBF]) ? data.dropFirst(3) : data
    guard let text = isUTF8 ? String(validating: bytes, as: UTF8.self) : String(data: bytes, encoding: encoding) else {
      throw ParserError(
        .unacceptable, expected: "expected text in \(name), found other bytes; for bytes, the model is Data")
    }
    return text
  }

  private static let encodings: [String: String.Encoding] = [
    "utf-8": .utf8, "utf8": .utf8, "us-ascii": .ascii, "ascii": .ascii, "iso-8859-1": .isoLatin1, "latin1": .isoLatin1,
    "iso-8859-2": .isoLatin2, "windows-1250": .windowsCP1250, "windows-1251": .windowsCP1251,
    "windows-1252": .windowsCP1252, "windows-1253": .windowsCP1253, "windows-1254": .windowsCP1254,
    "utf-16": .utf16, "utf-16le": .utf16LittleEndian, "utf-16be": .utf16BigEndian, "utf-32": .utf32,
    "euc-jp": .japaneseEUC, "shift_jis": .shiftJIS, "iso-2022-jp": .iso2022JP,
  ]
}
