import Foundation

/// A body that has passed the scanner, and the value in it that the parser is after.
struct JSONDocument {
  let data: Data
  let path: JSONPath
  let location: JSONLocator.Location
  /// Of each element of the array at the path, where asked for.
  let elements: [Range<Int>]
  /// The coding paths of the members that stand again, each once.
  let duplicates: [String]
  /// A Boolean value that indicates whether the names in a decoder's coding paths are converted
  /// ones.
  var hasConvertedNames = false

  /// - Throws: ``ParserError`` where `data` is no JSON, or has no value at `path`.
  init(_ data: Data, path: JSONPath, collectsElements: Bool = false) throws(ParserError) {
    guard !data.isEmpty else { throw ParserError.noBytes }
    let survey: JSONSurvey
    do throws(JSONFault) {
      survey = try data.withJSONBytes { bytes throws(JSONFault) in
        var survey = JSONSurvey(path, collectsElements: collectsElements)
        var scanner = JSONScanner(bytes)
        try scanner.scan(&survey)
        return survey
      }
    } catch {
      throw data.withUnsafeBytes { ParserError(error, in: $0) }
    }
    guard let location = survey.locator.location else {
      throw ParserError(.notJSON, expected: "expected a JSON value")
    }
    self.data = data
    self.path = path
    self.location = location
    elements = survey.locator.elements
    duplicates = Self.paths(of: survey.duplicates.offsets, in: data)
    guard location.matched == path.components.count else { throw noValueAtPath() }
  }

  /// The bytes of the value at the path.
  var selected: Data { bytes(location.range) }

  func bytes(_ range: Range<Int>) -> Data {
    data[(data.startIndex + range.lowerBound)..<(data.startIndex + range.upperBound)]
  }

  /// The ranges of the first `count` elements of the array at the path: for errors, which need few.
  func firstElements(_ count: Int) -> [Range<Int>] {
    var locator = JSONLocator(path, collecting: count)
    data.withUnsafeBytes { bytes in
      var scanner = JSONScanner(bytes)
      try? scanner.scan(&locator)
    }
    return locator.elements
  }

  var notAnArray: ParserError {
    data.withUnsafeBytes { bytes in
      var positions = JSONPositions()
      let error = ParserError(
        .wrongType, codingPath: path.text, expected: "expected an array, found \(location.kind.name)")
      return error.at(location.range.lowerBound, in: bytes, &positions)
    }
  }

  private func noValueAtPath() -> ParserError {
    let next = path.components[location.matched]
    var error: ParserError
    if location.kind == .beginObject {
      error = ParserError(.missing, expected: "expected a member \(next.name)")
    } else if location.kind == .beginArray, let index = next.index {
      error = ParserError(.missing, expected: "expected an element \(index)")
    } else {
      error = ParserError(.wrongType, expected: "expected an object, found \(location.kind.name)")
    }
    let length = location.matched + (error.reason == .missing ? 1 : 0)
    error.codingPath = JSONPath(Array(path.components.prefix(length))).text
    return data.withUnsafeBytes { bytes in
      var positions = JSONPositions()
      return error.at(location.range.lowerBound, in: bytes, &positions)
    }
  }

  private static func paths(of offsets: [Int], in data: Data) -> [String] {
    guard !offsets.isEmpty else { return [] }
    let wanted = Set(offsets)
    var finder = JSONPathFinder(limit: wanted.count) { token, _ in wanted.contains(token.start) && token.kind == .key }
    data.withUnsafeBytes { bytes in
      var scanner = JSONScanner(bytes)
      try? scanner.scan(&finder)
    }
    var paths: [String] = []
    for path in finder.found.map(\.path.text) where !paths.contains(path) { paths.append(path) }
    return paths
  }
}

extension ParserError {
  static var noBytes: ParserError {
    ParserError(.empty, expected: "expected JSON, found no bytes", position: Position(offset: 0, line: 1, column: 1))
  }
}

extension Data {
  /// `withUnsafeBytes`, with the type of what `body` throws.
  func withJSONBytes<Value>(
    _ body: (UnsafeRawBufferPointer) throws(JSONFault) -> Value
  ) throws(JSONFault) -> Value {
    let result: Result<Value, JSONFault> = withUnsafeBytes { bytes in
      Result { () throws(JSONFault) in try body(bytes) }
    }
    return try result.get()
  }
}

extension JSONToken.Kind {
  /// What a value of it is called in a message.
  var name: String {
    switch self {
    case .beginObject, .endObject: "an object"
    case .beginArray, .endArray: "an array"
    case .key, .string: "a string"
    case .number: "a number"
    case .bool: "a Boolean"
    case .null: "null"
    }
  }
}
