import FastJSON
import Foundation

/// A body that has been parsed, and the value in it that a parser is after.
struct JSONDocument {
  /// In UTF-8.
  let data: Data
  let path: JSONPath
  let tree: JSONTree
  /// The value at ``path``.
  let value: JSONTree.Value

  /// Lends the document of a body.
  ///
  /// - Throws: where `data` is not JSON (RFC 8259) or has no value at `path`, and what `body` throws.
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

  /// For texts of which no model is decoded.
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

  /// The coding paths of the members that stand again, each once.
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

  /// Where a value stands.
  func range(of value: JSONTree.Value) -> Range<Int> {
    let start = tree.offset(of: value)
    return start..<data.withUnsafeBytes { Self.end(of: start, in: $0) }
  }

  /// The end of the value that begins at `start`, in a text that has been parsed.
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
        // Behind a scalar, the end of what is around it.
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
  /// The error for what was thrown while the value at ``path`` was made a model.
  ///
  /// - Parameter index: of the element that was, where the value is an array.
  func error(_ thrown: any Error, element index: Int? = nil) -> ParserError {
    var positions = JSONPositions()
    return error(thrown, element: index, &positions)
  }

  var notAnArray: ParserError {
    ParserError(
      .wrongType, codingPath: path.text, expected: "expected an array, found \(kind.name)"
    ).at(tree.offset(of: value), in: data)
  }

  /// The result of reading `count` good elements into `model`, as `mode` has it.
  ///
  /// - Throws: where an element is malformed under `.strict`, or every one is under `.prune`.
  func parsed<Model>(
    _ model: Model, _ failures: ElementFailures, keeping count: Int, _ mode: ParsingMode
  ) throws(ParserError) -> Parsed<Model> {
    // Ascending, so lines are counted once, however many there are.
    var positions = JSONPositions()
    var pruned: [PrunedElement] = []
    for failure in failures.first {
      pruned.append(
        PrunedElement(index: failure.index, error: error(failure.error, element: failure.index, &positions)))
    }
    if let first = pruned.first {
      if mode == .strict { throw first.error }
      if mode == .prune, count == 0 { throw first.error.ofNone(failures.count) }
    }
    return Parsed(model, pruned: pruned, prunedCount: failures.count, duplicates: duplicates)
  }

  private func error(_ thrown: any Error, element index: Int?, _ positions: inout JSONPositions) -> ParserError {
    var failure = DecodingFailure(thrown)
    // A decoder's path begins with the index; a model's own error knows nothing above the model.
    if thrown is DecodingError, let index, failure.path.components.first?.index == index {
      failure.path.components.removeFirst()
    }
    // A decoder of the program's own may count otherwise.
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
  /// The value that the path leads to, or the last one on the way to it, and how many components lead there.
  ///
  /// - Parameter member: finds a member by a component's name.
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
  /// What a value of it is called in a message.
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

  /// The error of an array of `count` elements, all malformed, of which this is the first one's.
  func ofNone(_ count: Int) -> ParserError {
    var error = self
    let elements = count == 1 ? "its only element" : "any of its \(count) elements"
    error.expected = "expected an array, and cannot read \(elements): \(expected)"
    return error
  }
}
