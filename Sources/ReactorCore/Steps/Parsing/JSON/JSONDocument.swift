import FastJSON
import Foundation

/// A parsed body, and the value in it from which a parser makes a model.
struct JSONDocument {
  /// The body in UTF-8.
  let data: Data
  /// The path of ``value`` from the root of the body.
  let path: JSONPath
  let tree: JSONTree
  /// The value at ``path``.
  let value: JSONTree.Value

  /// Parses `data`, and calls `body` with the document. The document is valid during the call.
  ///
  /// - Parameter decoder: The decoder whose strategies apply to the models in the document.
  /// - Throws: A `ParserError` if `data` is not JSON (RFC 8259) or has no value at `path`, and the
  ///   errors of `body`.
  static func read<Result>(
    _ data: Data, path: JSONPath = JSONPath(), by decoder: FastJSONDecoder = plain,
    _ body: (JSONDocument) throws(ParserError) -> Result
  ) throws(ParserError) -> Result {
    guard !data.isEmpty else { throw ParserError.noBytes }
    let data = FastJSONDecoder.utf8(data) ?? data
    do {
      return try decoder.withTree(of: data) { try body(JSONDocument(data, path, $0)) }
    } catch let fault as SyntaxFault {
      throw ParserError(fault, in: data)
    } catch {
      throw ParserError(wrapping: error)
    }
  }

  /// The decoder of texts from which no `Decodable` model is made.
  static let plain = FastJSONDecoder()

  private init(_ data: Data, _ path: JSONPath, _ tree: JSONTree) throws(ParserError) {
    self.data = data
    self.path = path
    self.tree = tree
    let (value, matched) = path.value(in: tree, from: tree.root, named: tree.member(_:of:))
    self.value = value
    if matched < path.components.count { throw noValue(behind: matched) }
  }

  /// The kind of the value at the path.
  var kind: JSONTree.Kind { tree.kind(of: value) }

  /// The coding paths of members whose name occurs more than once in their object: each path once,
  /// at most 16.
  var duplicates: [String] { tree.duplicates(limit: 16).map { JSONPath($0).text } }

  private func noValue(behind matched: Int) -> ParserError {
    let next = path.components[matched]
    var error: ParserError
    switch tree.kind(of: value) {
    case .object: error = ParserError(.missing, expected: "expected a member \(next.name)")
    case .array where next.index != nil: error = ParserError(.missing, expected: "expected an element \(next.name)")
    case let kind: error = ParserError(.wrongType, expected: "expected an object, found \(kind.name)")
    }
    let length = matched + (error.reason == .missing ? 1 : 0)
    error.codingPath = JSONPath(Array(path.components.prefix(length))).text
    return error.at(tree.offset(of: value), in: data)
  }
}

// MARK: Bytes

extension JSONDocument {
  /// The bytes of the value at the path.
  var selected: Data { bytes(range(of: value)) }

  func bytes(_ range: Range<Int>) -> Data {
    data[(data.startIndex + range.lowerBound)..<(data.startIndex + range.upperBound)]
  }

  /// Returns the range of a value in ``data``.
  func range(of value: JSONTree.Value) -> Range<Int> {
    let start = tree.offset(of: value)
    return start..<data.withUnsafeBytes { Self.end(of: start, in: $0) }
  }

  /// Returns the end of the value that begins at `start`, in a text that is known to be JSON.
  private static func end(of start: Int, in bytes: UnsafeRawBufferPointer) -> Int {
    var (depth, isInString, index) = (0, false, start)
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\\") where isInString: index += 1
      case UInt8(ascii: "\""):
        isInString.toggle()
        if depth == 0, !isInString { return index + 1 }
      case _ where isInString: break
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        // Directly after a scalar, its array or object ends.
        if depth == 0 { return index }
        depth -= 1
        if depth == 0 { return index + 1 }
      case UInt8(ascii: ","), 0x20, 0x0A, 0x0D, 0x09: if depth == 0 { return index }
      default: break
      }
      index += 1
    }
    return bytes.count
  }
}

// MARK: Errors

extension JSONDocument {
  /// Converts an error that was thrown while the value at ``path`` was decoded or mapped.
  ///
  /// The result has the path from the root, and the position.
  /// - Parameter index: The index of the element that failed, if elements are decoded one by one.
  func error(_ thrown: any Error, element index: Int? = nil) -> ParserError {
    var positions = JSONPositions()
    return error(thrown, element: index, &positions)
  }

  /// The error for a value at ``path`` that should be an array.
  var notAnArray: ParserError {
    ParserError(
      .wrongType, codingPath: path.text, expected: "expected an array, found \(kind.name)"
    ).at(tree.offset(of: value), in: data)
  }

  /// Returns the result of reading `count` good elements into `model`.
  ///
  /// - Throws: The error of the first malformed element under `.strict`, and under `.prune` if no
  ///   element is good.
  func parsed<Model>(
    _ model: Model, _ failures: ElementFailures, keeping count: Int, _ mode: ReactorConfiguration.ParsingMode
  ) throws(ParserError) -> Parsed<Model> {
    // The offsets ascend, so the lines of the body are counted once for all failures.
    var positions = JSONPositions()
    var pruned: [ParserError.PrunedElement] = []
    for failure in failures.first {
      pruned.append(
        ParserError.PrunedElement(index: failure.index, error: error(failure.error, element: failure.index, &positions))
      )
    }
    if let first = pruned.first {
      if mode == .strict { throw first.error }
      if mode == .prune, count == 0 { throw first.error.ofNone(failures.count) }
    }
    return Parsed(model, pruned: pruned, prunedCount: failures.count, duplicates: duplicates)
  }

  private func error(_ thrown: any Error, element index: Int?, _ positions: inout JSONPositions) -> ParserError {
    var failure = DecodingFailure(thrown)
    // A decoder's path begins with the index. The path of a model's own error begins at the model.
    if thrown is DecodingError, let index, failure.path.components.first?.index == index {
      failure.path.components.removeFirst()
    }
    // A custom decoder may report an index that the array does not have.
    let start = index.flatMap { tree.element($0, of: value) } ?? value
    let (found, matched) = failure.path.value(in: tree, from: start, named: tree.member(forKey:of:))
    let isWhole = matched == failure.path.components.count
    if failure.namesFound {
      if isWhole { failure.expected += ", found \(tree.kind(of: found).name)" } else { failure.reason = .missing }
    }
    failure.path = path + JSONPath(index.map { [JSONPath.Component(index: $0)] } ?? []) + failure.path
    return failure.error.at(failure.offset ?? tree.offset(of: found), in: data, &positions)
  }
}

extension JSONPath {
  /// Returns the value at the path, or the last one on the way to it, and the number of components
  /// that lead there.
  ///
  /// - Parameter member: Finds a member by a component's name.
  fileprivate func value(
    in tree: JSONTree, from start: JSONTree.Value, named member: (String, JSONTree.Value) -> JSONTree.Value?
  ) -> (value: JSONTree.Value, matched: Int) {
    var value = start
    for (matched, component) in components.enumerated() {
      let next =
        switch tree.kind(of: value) {
        case .object: member(component.name, value)
        case .array: component.index.flatMap { tree.element($0, of: value) }
        default: nil as JSONTree.Value?
        }
      guard let next else { return (value, matched) }
      value = next
    }
    return (value, components.count)
  }
}

extension JSONTree.Kind {
  /// The name of the kind in messages, such as *a string*.
  var name: String {
    switch self {
    case .null: "null"
    case .bool: "a Boolean"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

extension ParserError {
  /// The error for an empty body.
  static var noBytes: ParserError {
    ParserError(.empty, expected: "expected JSON, found no bytes", position: Position(offset: 0, line: 1, column: 1))
  }

  fileprivate init(_ fault: SyntaxFault, in data: Data) {
    let reason: Reason =
      switch fault.kind {
      case .syntax: .notJSON
      case .depth: .tooDeep
      case .size, .surrogate: .unacceptable
      }
    self = ParserError(reason, expected: fault.reason).at(fault.offset, in: data)
  }

  /// Returns the error of an array whose `count` elements are all malformed, from the error of the
  /// first.
  func ofNone(_ count: Int) -> ParserError {
    var error = self
    let elements = count == 1 ? "its only element could not be read" : "none of its \(count) elements could be read"
    error.expected = "expected an array, but \(elements): \(expected)"
    return error
  }
}
