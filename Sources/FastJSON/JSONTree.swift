// A parsed text, for who reads more of it than one model.

package import Foundation

/// The values of a text, in any order, and models of any of them.
///
/// It is lent by ``FastJSONDecoder/withTree(of:_:)``, and used by one task at a time.
package struct JSONTree {
  let session: Session

  /// A value of the text.
  package struct Value: Hashable, Sendable {
    let index: TapeIndex

    /// The position of the value as if it were the root, where paths begin.
    fileprivate var position: Position { Position(index: index, container: 0) }
  }

  package enum Kind: Sendable {
    case null, bool, number, string, array, object
  }

  private var tape: Tape { session.core.pointee.tape }

  package var root: Value { Value(index: 1) }

  package func kind(of value: Value) -> Kind {
    switch Tag(rawValue: tape[value.index].tag) {
    case .true, .false: .bool
    case .number: .number
    case .string, .unreadable: .string
    case .array: .array
    case .object: .object
    case .null, .name, nil: .null
    }
  }

  /// The first byte of a value in the text.
  package func offset(of value: Value) -> Int { tape.offset(of: value.index) }
}

// MARK: Inside of a value

extension JSONTree {
  /// The elements of an array, or the members of an object; 0 for a scalar.
  package func count(of value: Value) -> Int {
    switch kind(of: value) {
    case .array, .object: tape.count(of: value.index)
    default: 0
    }
  }

  package func element(_ number: Int, of array: Value) -> Value? {
    guard kind(of: array) == .array, 0..<count(of: array) ~= number else { return nil }
    return elements(of: array).first { $0.number == number }?.value
  }

  /// The elements of an array, each with its index.
  package func elements(of array: Value) -> some Sequence<(number: Int, value: Value)> {
    let (tape, count) = (tape, kind(of: array) == .array ? count(of: array) : 0)
    return sequence(state: (number: 0, next: array.index + 2)) { state in
      guard state.number < count else { return nil }
      defer { state = (state.number + 1, tape.end(of: state.next)) }
      return (state.number, Value(index: state.next))
    }
  }

  /// The first member of this name, as written in the text, whatever the key strategy.
  package func member(_ name: String, of object: Value) -> Value? {
    members(of: object).first { $0.name == name }?.value
  }

  /// The first member that a model's key of this name asks for.
  package func member(forKey name: String, of object: Value) -> Value? {
    guard kind(of: object) == .object else { return nil }
    let hasCustomKeys = session.core.pointee.hasCustomKeys
    let index =
      hasCustomKeys
      ? session.core.convertedNames(of: object.index).find(name) : session.core.find(name, in: object.index)
    return index == 0 ? nil : Value(index: index)
  }

  /// The members of an object in order, with their names as they stand in the text.
  package func members(of object: Value) -> some Sequence<(name: String, value: Value)> {
    let tape = tape
    return (0..<(kind(of: object) == .object ? count(of: object) : 0)).lazy.map { member in
      (
        tape.name(of: member, in: object.index, isOriginal: true),
        Value(index: tape.value(of: member, in: object.index))
      )
    }
  }

  /// The paths of members whose name stands before them in the same object: each once, and at most
  /// `limit`.
  package func duplicates(limit: Int) -> [[any CodingKey]] {
    guard tape.duplicateCount > 0 else { return [] }
    var finder = DuplicateFinder(tape: tape, limit: limit)
    finder.visit(root.index)
    return finder.paths
  }
}

/// Walks through a text in which names stand twice.
private struct DuplicateFinder {
  let tape: Tape
  let limit: Int
  var paths: [[any CodingKey]] = []
  private var path: [any CodingKey] = []

  init(tape: Tape, limit: Int) {
    self.tape = tape
    self.limit = limit
  }

  mutating func visit(_ index: TapeIndex) {
    guard paths.count < limit else { return }
    if tape[index].is(.array) {
      var next = index + 2
      for number in 0..<tape.count(of: index) {
        enter(next, PathKey(index: number))
        next = tape.end(of: next)
      }
    } else if tape[index].is(.object) {
      if tape[index] & Word.duplicates != 0 { note(index) }
      for member in 0..<tape.count(of: index) {
        enter(tape.value(of: member, in: index), PathKey(stringValue: tape.name(of: member, in: index)))
      }
    }
  }

  private mutating func enter(_ index: TapeIndex, _ key: PathKey) {
    guard tape[index].is(.array) || tape[index].is(.object) else { return }
    path.append(key)
    visit(index)
    path.removeLast()
  }

  private mutating func note(_ object: TapeIndex) {
    var seen: Set<String> = []
    var noted: Set<String> = []
    for member in 0..<tape.count(of: object) {
      let name = tape.name(of: member, in: object)
      if seen.insert(name).inserted || !noted.insert(name).inserted { continue }
      if paths.count < limit { paths.append(path + [PathKey(stringValue: name)]) }
    }
  }
}

// MARK: Scalars

extension JSONTree {
  package func isTrue(_ value: Value) -> Bool { tape[value.index].is(.true) }

  /// The string; `nil` for another kind of value, and for half of a surrogate pair.
  package func string(_ value: Value) -> String? {
    tape[value.index].is(.string) ? tape.string(at: value.index) : nil
  }

  /// A number as it stands in the text.
  package func numberText(_ value: Value) -> String { tape.number(at: value.index) }

  /// A number without a fraction and an exponent; `nil` for others, and where it does not fit.
  package func integer<Integer: FixedWidthInteger>(_ value: Value, as type: Integer.Type) -> Integer? {
    guard tape[value.index].is(.number), tape[value.index] & Word.decimal == 0 else { return nil }
    return try? session.core.integer(value.index, as: type, Place(value.position))
  }

  /// The nearest number; `nil` if that is infinite.
  package func double(_ value: Value) -> Double? {
    if let number = try? session.core.double(value.index, Place(value.position)) { return number }
    // A number that is too small is zero here.
    return Double(numberText(value)).flatMap { $0.isFinite ? $0 : nil }
  }
}

// MARK: Models

extension JSONTree {
  /// Decodes a value; paths begin at it.
  package func decode<Model: Decodable>(_ type: Model.Type, at value: Value) throws -> Model {
    session.core.pointee.tape.root = value.index
    return try session.core.decode(type, value.position)
  }

  /// Decodes each element of an array by itself; paths begin at the array.
  ///
  /// - Parameter failed: gets the index of an element that could not be decoded, and the error;
  ///   `false` stops the work.
  package func elements<Element: Decodable>(
    _ type: Element.Type, of array: Value, failed: (Int, any Error) -> Bool
  ) -> [Element] {
    guard kind(of: array) == .array else { return [] }
    let core = session.core
    core.pointee.tape.root = array.index
    var elements: [Element] = []
    elements.reserveCapacity(tape.count(of: array.index))
    for (number, value) in self.elements(of: array) {
      let position = Position(
        index: value.index, container: array.index, element: UInt32(truncatingIfNeeded: number))
      do {
        elements.append(try core.decode(type, position))
      } catch {
        guard failed(number, error) else { break }
      }
    }
    return elements
  }
}

extension FastJSONDecoder {
  /// The text of `data` in UTF-8, where it is in UTF-16 or UTF-32.
  package static func utf8(_ data: Data) -> Data? {
    data.withUnsafeBytes { TextEncoding.utf8(of: $0) }.map { Data($0) }
  }
}
