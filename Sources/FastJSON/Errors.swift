// Errors, made when they are thrown, from the tape and from the frames of what is being decoded.

import Foundation

/// The place in a text of a value that could not be decoded. The underlying error of each
/// `DecodingError` that ``FastJSONDecoder`` makes.
///
/// ```swift
/// do {
///   show(try decoder.decode([Story].self, from: data))
/// } catch DecodingError.typeMismatch(_, let context) {
///   let place = (context.underlyingError as? FastJSONError)?.byteOffset
///   report("\(context.debugDescription), at byte \(place ?? 0)")
/// }
/// ```
public struct FastJSONError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The first byte of the value, or of the invalid JSON, in the text as UTF-8. For texts that came
  /// in UTF-16 or UTF-32: as if they had been converted.
  public let byteOffset: Int
  /// The fault, if the text is not JSON; `nil` if it is, but does not fit the model.
  public let syntaxFault: String?

  public var description: String {
    syntaxFault.map { "\($0), at byte \(byteOffset)" } ?? "at byte \(byteOffset)"
  }
}

extension FastJSONError {
  /// The error of a JSON value that does not fit the model.
  package static func at(_ byteOffset: Int) -> FastJSONError { FastJSONError(byteOffset: byteOffset, syntaxFault: nil) }
}

extension SyntaxFault {
  var decodingError: DecodingError {
    .dataCorrupted(
      DecodingError.Context(
        codingPath: [], debugDescription: "The text is not JSON: \(reason), at byte \(offset).",
        underlyingError: FastJSONError(byteOffset: offset, syntaxFault: reason)))
  }
}

extension CorePointer {
  @inline(never) func mismatch(_ type: Any.Type, _ index: TapeIndex, _ place: Place) -> DecodingError {
    if word(index).is(.unreadable), type == String.self {
      return corrupted("Expected a string without unpaired surrogates.", index, place)
    }
    let found = pointee.tape.kindName(index)
    let context = context("Expected \(Self.name(of: type)), found \(found).", index, place)
    return isNull(index) ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }

  /// Null too is a mismatch of types here, as with `JSONDecoder`.
  @inline(never) func notBoolean(_ index: TapeIndex, _ place: Place) -> DecodingError {
    .typeMismatch(Bool.self, context("Expected Bool, found \(pointee.tape.kindName(index)).", index, place))
  }

  @inline(never) func unrepresentable(_ type: Any.Type, _ index: TapeIndex, _ place: Place) -> DecodingError {
    corrupted("Expected a number that fits \(type), found \(pointee.tape.number(at: index).prefix(64)).", index, place)
  }

  @inline(never) func corrupted(_ text: String, _ index: TapeIndex, _ place: Place) -> DecodingError {
    .dataCorrupted(context(text, index, place))
  }

  @inline(never) func notFound(_ key: any CodingKey, in object: TapeIndex) -> DecodingError {
    .keyNotFound(
      key, context("The object has no member \"\(key.stringValue)\".", object, Place(pointee.tape.position(of: object)))
    )
  }

  @inline(never) func atEnd(_ type: Any.Type, of array: TapeIndex, _ element: Int) -> DecodingError {
    .valueNotFound(
      type, context("The array has only \(element) elements.", array, Place(array, PathKey(index: element))))
  }

  private func context(_ text: String, _ index: TapeIndex, _ place: Place) -> DecodingError.Context {
    DecodingError.Context(
      codingPath: path(place), debugDescription: text,
      underlyingError: FastJSONError(byteOffset: pointee.tape.offset(of: index), syntaxFault: nil))
  }

  private static func name(of type: Any.Type) -> String { "\(type)" }
}

extension Tape {
  /// The first byte of a value in the text.
  func offset(of index: TapeIndex) -> Int {
    let word = words[Int(index)]
    return markCount + (word.is(.string) || word.is(.unreadable) ? word.offset - 1 : word.offset)
  }

  func kindName(_ index: TapeIndex) -> String {
    switch Tag(rawValue: words[Int(index)].tag) {
    case .null: "null"
    case .true, .false: "a Boolean"
    case .number: "a number"
    case .string, .unreadable: "a string"
    case .array: "an array"
    case .object: "an object"
    case .name, nil: "a name"
    }
  }
}
