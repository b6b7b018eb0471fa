import FastJSON
import Foundation

/// The outcome of an encoding, of which tests compare two.
enum Encoded: Equatable, CustomStringConvertible {
  case text(Data)
  case invalidValue(path: [String])
  case error(String)

  init(_ encode: () throws -> Data) {
    do {
      self = .text(try encode())
    } catch EncodingError.invalidValue(_, let context) {
      self = .invalidValue(path: context.codingPath.map(\.stringValue))
    } catch {
      self = .error("\(error)")
    }
  }

  var isInvalid: Bool { if case .invalidValue = self { true } else { false } }

  var description: String {
    switch self {
    case .text(let data): String(decoding: data, as: UTF8.self)
    case .invalidValue(let path): "an invalid value at \(path)"
    case .error(let error): error
    }
  }
}

/// An encoder of Foundation with sorted keys.
func foundationEncoder(_ configure: (JSONEncoder) -> Void = { _ in }) -> JSONEncoder {
  let encoder = JSONEncoder()
  encoder.outputFormatting = .sortedKeys
  configure(encoder)
  return encoder
}

/// Encodes a value by Foundation, and by a ``FastJSONEncoder`` with the same strategies.
func encodings(_ value: some Encodable, _ configure: (JSONEncoder) -> Void = { _ in }) -> (Encoded, Encoded) {
  let foundation = foundationEncoder(configure)
  let encoder = FastJSONEncoder(foundation)
  return (Encoded { try foundation.encode(value) }, Encoded { try encoder.encode(value) })
}

/// Encodes a value with sorted keys.
func encode(_ value: some Encodable, _ configure: (FastJSONEncoder) -> Void = { _ in }) throws -> String {
  let encoder = FastJSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  configure(encoder)
  return String(decoding: try encoder.encode(value), as: UTF8.self)
}
