import FastJSON
public import Foundation

extension Parser where Model == Data {
  /// Returns a parser that checks a body to be JSON, and returns the bytes of the value at a path.
  ///
  /// The bytes are those received, with two exceptions. Bytes that are not UTF-8 are converted to
  /// it from the charset that the response's `Content-Type` names. A value at a path in UTF-16 or
  /// UTF-32 is converted, too. The parser throws a ``ParserError`` with one of these reasons:
  ///
  /// - ``ParserError/Reason/empty``, ``ParserError/Reason/notJSON`` or
  ///   ``ParserError/Reason/tooDeep`` for the body.
  /// - ``ParserError/Reason/missing`` if there is no value at the path, or no required member.
  /// - ``ParserError/Reason/wrongType`` if a required member is null, or if another value is found
  ///   instead of an object.
  /// - ``ParserError/Reason/unacceptable`` for more than 1 GiB of text, and for half of a surrogate
  ///   pair in a name.
  ///
  /// ``encode(_:)`` checks that its bytes are JSON too.
  ///
  /// - Parameters:
  ///   - keyPath: The path of the value, such as `data.articles`. Without one, the parser returns
  ///     the whole body, including white space around the value.
  ///   - members: The names of members that an object must have, with a value other than null. If
  ///     the value is an array, each of its elements must have them; otherwise, the value itself.
  ///   - mode: The treatment of an element without a required member. Pruning cuts it out of the
  ///     array, and leaves the bytes of the other elements unchanged. It returns the array without
  ///     white space around it. A value that is not an array always fails.
  public static func jsonBytes(
    keyPath: String? = nil, requiring members: [String] = [], mode: ReactorConfiguration.ParsingMode = .prune
  ) -> Parser {
    let path = JSONPath(keyPath: keyPath)
    return Parser(
      ofJSON: { data in
        try JSONDocument.read(data, path: path) { document throws(ParserError) in
          // Without a path, the result includes white space around the value.
          let whole = path.components.isEmpty ? data : document.selected
          return try document.bytes(whole, requiring: members, mode: mode)
        }
      },
      encode: { data in
        try JSONDocument.read(data) { document throws(ParserError) in
          // Within an envelope, a byte order mark or UTF-16 would not be JSON.
          path.components.isEmpty ? data : path.envelope(document.selected)
        }
      })
  }
}

extension JSONDocument {
  fileprivate func bytes(
    _ whole: Data, requiring members: [String], mode: ReactorConfiguration.ParsingMode
  ) throws(ParserError) -> Parsed<Data> {
    guard !members.isEmpty else { return Parsed(whole, duplicates: duplicates) }
    guard kind == .array else {
      if let error = lacking(members, value) { throw self.error(error) }
      return Parsed(whole, duplicates: duplicates)
    }
    var failures = ElementFailures()
    var kept: [Int] = []
    for (index, element) in tree.elements(of: value) {
      guard let error = lacking(members, element) else {
        kept.append(index)
        continue
      }
      failures.append(index, error)
      if mode == .strict { break }
    }
    return try parsed(failures.isEmpty ? whole : cut(keeping: kept), failures, keeping: kept.count, mode)
  }

  /// Returns the error of a value that is not an object, or lacks one of the members; `nil` if it
  /// has all of them, none as null.
  private func lacking(_ names: [String], _ value: JSONTree.Value) -> ParserError? {
    guard tree.kind(of: value) == .object else {
      return ParserError(.wrongType, expected: "expected an object, found \(tree.kind(of: value).name)")
    }
    for name in names {
      guard let member = tree.member(forKey: name, of: value) else {
        return ParserError(.missing, codingPath: name, expected: "expected a member \(name)")
      }
      if tree.kind(of: member) == .null {
        return ParserError(.wrongType, codingPath: name, expected: "expected a value for \(name), found null")
      }
    }
    return nil
  }

  /// Returns the bytes of the array with only the elements at the indices `kept`.
  ///
  /// The text between a kept element and the one before it stays, except in front of the first kept
  /// element.
  private func cut(keeping kept: [Int]) -> Data {
    let elements = tree.elements(of: value).map { range(of: $0.value) }
    guard let first = elements.first, let last = elements.last, let firstKept = kept.first else {
      return Data("[]".utf8)
    }
    let array = range(of: value)
    var result = bytes(array.lowerBound..<first.lowerBound)
    for index in kept {
      let start = index == firstKept ? elements[index].lowerBound : elements[index - 1].upperBound
      result.append(bytes(start..<elements[index].upperBound))
    }
    result.append(bytes(last.upperBound..<array.upperBound))
    return result
  }
}
