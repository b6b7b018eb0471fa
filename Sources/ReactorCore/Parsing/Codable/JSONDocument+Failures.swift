import Foundation

extension JSONDocument {
  /// The error for what was thrown while the value at ``path`` was made a model.
  func error(_ thrown: any Error) -> ParserError {
    var positions = JSONPositions()
    return error(thrown, index: nil, range: location.range, &positions)
  }

  /// The first elements that were left out; counts positions once through the bytes, however many there are.
  func pruned(_ failures: ElementFailures) -> [PrunedElement] {
    guard let last = failures.first.last else { return [] }
    var positions = JSONPositions()
    let elements = elements.isEmpty ? firstElements(last.index + 1) : elements
    return failures.first.map { failure in
      // A decoder may be a user's own subclass, and count otherwise than the scanner.
      let range = elements.indices.contains(failure.index) ? elements[failure.index] : location.range
      let error = self.error(failure.error, index: failure.index, range: range, &positions)
      return PrunedElement(index: failure.index, error: error)
    }
  }

  /// The result of reading `count` good elements into `model`, as `mode` has it.
  ///
  /// - Throws: where an element is malformed under `.strict`, or every one is under `.prune`.
  func parsed<Model>(
    _ model: Model, _ failures: ElementFailures, keeping count: Int, _ mode: ParsingMode
  ) throws(ParserError) -> Parsed<Model> {
    let pruned = pruned(failures)
    if let first = pruned.first {
      if mode == .strict { throw first.error }
      if mode == .prune, count == 0 { throw first.error.ofNone(failures.count) }
    }
    return Parsed(model, pruned: pruned, prunedCount: failures.count, duplicates: duplicates)
  }

  /// - Parameter index: of the element in `range`; `nil` where that is the whole value at ``path``.
  private func error(
    _ thrown: any Error, index: Int?, range: Range<Int>, _ positions: inout JSONPositions
  ) -> ParserError {
    var failure = DecodingFailure(thrown)
    // A decoder's path begins with the index; a model's own error knows nothing above the model.
    if thrown is DecodingError, let index, failure.path.components.first?.index == index {
      failure.path.components.removeFirst()
    }
    let base = path + JSONPath(index.map { [JSONPath.Component(index: $0)] } ?? [])
    return data.withUnsafeBytes { bytes in
      var offset = failure.offset ?? range.lowerBound
      if failure.offset != nil {
        // The scanner has said where.
      } else if let hinted = DecoderHint(thrown, start: location.range.lowerBound).value(in: range, of: bytes) {
        failure.path = hinted.path
        failure.expected =
          hinted.token.kind == .number ? "expected a number that fits" : "expected whole surrogate pairs"
        offset = hinted.token.start
      } else if let found = locate(failure.path, in: range, of: bytes) {
        offset = found.range.lowerBound
        let isWhole = found.matched == failure.path.components.count
        if failure.namesFound, isWhole { failure.expected += ", found \(found.kind.name)" }
        if failure.namesFound, !isWhole { failure.reason = .missing }
      }
      failure.path = base + failure.path
      return failure.error.at(offset, in: bytes, &positions)
    }
  }

  private func locate(
    _ path: JSONPath, in range: Range<Int>, of bytes: UnsafeRawBufferPointer
  ) -> JSONLocator.Location? {
    var locator = JSONLocator(path, ignoresNameStyle: hasConvertedNames)
    var scanner = JSONScanner(bytes, range: range)
    try? scanner.scan(&locator)
    return locator.location
  }
}

extension ParserError {
  /// The error of an array of `count` elements, all malformed, of which this is the first one's.
  func ofNone(_ count: Int) -> ParserError {
    var error = self
    let elements = count == 1 ? "its only element" : "any of its \(count) elements"
    error.expected = "expected an array, and cannot read \(elements): \(expected)"
    return error
  }
}
