import FastJSON
public import Foundation

extension Parser where Model == Data {
  /// Checks that the bytes are JSON, and gives the value at a path as the bytes received.
  ///
  /// - Parameters:
  ///   - keyPath: leads to the value; without one, all bytes are given, white space around the value included.
  ///   - members: what the value, or where it is an array each of its elements, must have, and not as null.
  ///   - mode: an element without is cut out of the array, which stays as it was otherwise; `.strict` fails, and
  ///     so does `.prune` where every element lacks one. A value that is itself no array and lacks one always fails.
  public static func jsonBytes(
    keyPath: String? = nil, requiring members: [String] = [], mode: ParsingMode = .prune
  ) -> Parser {
    let path = JSONPath(keyPath: keyPath)
    return Parser { data in
      try JSONDocument.read(data, path: path) { document throws(ParserError) in
        // Without a path, white space around the value is given too.
        let whole = path.components.isEmpty ? data : document.selected
        return try document.bytes(whole, requiring: members, mode: mode)
      }
    } encode: { data in
      try JSONDocument.read(data) { _ throws(ParserError) in }
      return path.envelope(data)
    }
  }
}

extension JSONDocument {
  fileprivate func bytes(
    _ whole: Data, requiring members: [String], mode: ParsingMode
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

  /// `nil` where `value` is an object that has all members, and none of them as null.
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

  /// The array with the elements at the indices `kept` alone, and without the text that parted others from those before.
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
