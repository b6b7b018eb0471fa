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
      let document = try JSONDocument(data, path: path, collectsElements: !members.isEmpty)
      return try document.bytes(requiring: members, mode: mode)
    } encode: { data in
      _ = try JSONDocument(data, path: JSONPath())
      return path.envelope(data)
    }
  }
}

extension JSONDocument {
  fileprivate func bytes(requiring members: [String], mode: ParsingMode) throws(ParserError) -> Parsed<Data> {
    let whole = path.components.isEmpty ? data : selected
    guard !members.isEmpty else { return Parsed(whole, duplicates: duplicates) }
    guard location.kind == .beginArray else {
      if let error = lacking(members, location.range) { throw self.error(error) }
      return Parsed(whole, duplicates: duplicates)
    }
    var failures = ElementFailures()
    var kept: [Int] = []
    for (index, range) in elements.enumerated() {
      guard let error = lacking(members, range) else {
        kept.append(index)
        continue
      }
      failures.append(index, error)
      if mode == .strict { break }
    }
    return try parsed(failures.isEmpty ? whole : cut(keeping: kept), failures, keeping: kept.count, mode)
  }

  private func lacking(_ members: [String], _ range: Range<Int>) -> ParserError? {
    data.withUnsafeBytes { bytes in
      var check = RequiredMembers(members)
      var scanner = JSONScanner(bytes, range: range)
      try? scanner.scan(&check)
      return check.error
    }
  }

  /// The array with the elements at the indices `kept` alone, and without the text that parted others from those before.
  private func cut(keeping kept: [Int]) -> Data {
    guard let first = elements.first, let last = elements.last, let firstKept = kept.first else {
      return Data("[]".utf8)
    }
    var result = bytes(location.range.lowerBound..<first.lowerBound)
    for index in kept {
      let start = index == firstKept ? elements[index].lowerBound : elements[index - 1].upperBound
      result.append(bytes(start..<elements[index].upperBound))
    }
    result.append(bytes(last.upperBound..<location.range.upperBound))
    return result
  }
}

/// Looks for members of one object.
private struct RequiredMembers: JSONVisitor {
  private let names: [String]
  private var missing: Set<String>
  private var seen: Set<String> = []
  private var kind: JSONToken.Kind?
  private var depth = 0
  private var current: String?

  init(_ names: [String]) {
    self.names = names
    missing = Set(names)
  }

  /// `nil` where the value has all.
  var error: ParserError? {
    guard kind == .beginObject else {
      return ParserError(.wrongType, expected: "expected an object, found \((kind ?? .null).name)")
    }
    return names.first(where: missing.contains).map { name in
      let isNull = seen.contains(name)
      let expected = isNull ? "expected a value for \(name), found null" : "expected a member \(name)"
      return ParserError(isNull ? .wrongType : .missing, codingPath: name, expected: expected)
    }
  }

  mutating func visit(_ token: JSONToken, in bytes: UnsafeRawBufferPointer) {
    if kind == nil { kind = token.kind }
    if token.kind == .endObject || token.kind == .endArray { depth -= 1 }
    if token.kind == .key, depth == 1 {
      // The first member of a name counts.
      current = names.first { JSONText.equals(token, $0, in: bytes) && !seen.contains($0) }
      if let current { seen.insert(current) }
    } else if token.beginsValue, depth == 1, let name = current {
      if token.kind != .null { missing.remove(name) }
      current = nil
    }
    if token.kind == .beginObject || token.kind == .beginArray { depth += 1 }
  }
}
