import Foundation

extension Parser where Model: Mappable {
  /// Maps JSON by ``Mappable/mapToModel(_:)``.
  ///
  /// - Parameters:
  ///   - keyPath: leads to the model, `data.article`; a number is an index in an array and a name in an object.
  ///   - mode: as for arrays; one model that is malformed fails in either.
  public static func mappable(keyPath: String? = nil, mode: ParsingMode = .prune) -> Parser {
    let path = JSONPath(keyPath: keyPath)
    return Parser { data in
      let document = try JSONDocument(data, path: path)
      let json = try document.value(in: document.location.range)
      do {
        return Parsed(try Model.mapToModel(json), duplicates: document.duplicates)
      } catch {
        throw document.error(error)
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
      let document = try JSONDocument(data, path: path, collectsElements: true)
      return try document.models(mode: mode)
    } encode: { models in
      let json = models.map { $0.mapToJSON() }
      return json.contains(.null) ? nil : path.envelope(try JSONValue.array(json).data())
    }
  }
}

extension JSONDocument {
  /// The elements of the array at the path, each mapped by itself.
  fileprivate func models<Element: Mappable>(mode: ParsingMode) throws(ParserError) -> Parsed<[Element]> {
    guard location.kind == .beginArray else { throw notAnArray }
    var models: [Element] = []
    var failures = ElementFailures()
    models.reserveCapacity(elements.count)
    for (index, range) in elements.enumerated() {
      do {
        models.append(try Element.mapToModel(try value(in: range)))
      } catch {
        failures.append(index, error)
        if mode == .strict { break }
      }
    }
    return try parsed(models, failures, keeping: models.count, mode)
  }
}
