import Dispatch
import FastJSON
import Foundation
import Synchronization
import Testing

/// Decodes a text, by default with a new decoder.
func decode<Value: Decodable>(
  _ type: Value.Type, _ text: String, with decoder: FastJSONDecoder = FastJSONDecoder()
) throws -> Value {
  try decoder.decode(type, from: Data(text.utf8))
}

/// Decodes bytes, by default with a new decoder.
func decode<Value: Decodable>(
  _ type: Value.Type, bytes: [UInt8], with decoder: FastJSONDecoder = FastJSONDecoder()
) throws -> Value {
  try decoder.decode(type, from: Data(bytes))
}

/// Returns whether decoding throws a `DecodingError`.
func isRefused<Value: Decodable>(
  _ type: Value.Type, _ text: String, with decoder: FastJSONDecoder = FastJSONDecoder()
) -> Bool {
  isRefused(type, bytes: Array(text.utf8), with: decoder)
}

/// Returns whether decoding throws a `DecodingError`.
func isRefused<Value: Decodable>(
  _ type: Value.Type, bytes: [UInt8], with decoder: FastJSONDecoder = FastJSONDecoder()
) -> Bool {
  do {
    _ = try decoder.decode(type, from: Data(bytes))
    return false
  } catch {
    return error is DecodingError
  }
}

/// A decoder with other settings than the defaults.
func configured(_ configure: (FastJSONDecoder) -> Void) -> FastJSONDecoder {
  let decoder = FastJSONDecoder()
  configure(decoder)
  return decoder
}

/// The parts of a `DecodingError` that tests compare.
struct Failure: Equatable, Sendable {
  enum Kind: Sendable {
    case typeMismatch, valueNotFound, keyNotFound, dataCorrupted
  }

  var kind: Kind
  var path: [String]
  /// Of the underlying ``FastJSONError``; `nil` without one.
  var byteOffset: Int?

  init(_ kind: Kind, _ path: [String], at byteOffset: Int?) {
    self.kind = kind
    self.path = path
    self.byteOffset = byteOffset
  }

  init(_ error: DecodingError) {
    kind = Self.kind(of: error)
    let context = Self.context(of: error)
    path = context?.codingPath.map { $0.stringValue } ?? []
    byteOffset = (context?.underlyingError as? FastJSONError)?.byteOffset
  }

  static func kind(of error: DecodingError) -> Kind {
    if case .typeMismatch = error { return .typeMismatch }
    if case .valueNotFound = error { return .valueNotFound }
    if case .keyNotFound = error { return .keyNotFound }
    return .dataCorrupted
  }

  static func context(of error: DecodingError) -> DecodingError.Context? {
    if case .typeMismatch(_, let context) = error { return context }
    if case .valueNotFound(_, let context) = error { return context }
    if case .keyNotFound(_, let context) = error { return context }
    if case .dataCorrupted(let context) = error { return context }
    return nil
  }
}

/// A text was decoded that should have been refused.
struct Accepted: Error {
  var value: String
}

/// Returns the error that decoding throws.
func failure<Value: Decodable>(
  _ type: Value.Type, _ text: String, with decoder: FastJSONDecoder = FastJSONDecoder()
) throws -> Failure {
  do {
    let value = try decode(type, text, with: decoder)
    throw Accepted(value: "\(value)")
  } catch let error as DecodingError {
    return Failure(error)
  }
}

/// A value that several threads may set and read.
final class Box<Value: Sendable>: Sendable {
  private let state: Mutex<Value>

  init(_ value: Value) { state = Mutex(value) }

  var value: Value { state.withLock { $0 } }
  func set(_ value: Value) { state.withLock { $0 = value } }
  func update(_ change: @Sendable (inout Value) -> Void) { state.withLock { change(&$0) } }
}

/// Hands a value to another thread, which has exclusive use of it, or only reads it. Containers are
/// not `Sendable`; the test shows that a model may do this with a container that it has kept.
struct Handed<Value>: @unchecked Sendable {
  let value: Value
}

/// Runs deep recursions: threads other than the first have as little as 512 KiB of stack on Darwin.
func onLargeStack<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
  let result = Box<Result<Value, any Error>?>(nil)
  let done = DispatchSemaphore(value: 0)
  let thread = Thread {
    result.set(Result { try body() })
    done.signal()
  }
  thread.stackSize = 256 << 20
  thread.start()
  done.wait()
  let outcome = try #require(result.value)
  return try outcome.get()
}

/// Any JSON; reads every value of a text.
enum AnyJSON: Decodable, Equatable, Sendable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([AnyJSON])
  case object([String: AnyJSON])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([AnyJSON].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: AnyJSON].self))
    }
  }
}

/// A type that reads nothing of an object.
struct Nothing: Decodable, Equatable, Sendable {
  init(from decoder: any Decoder) throws {}
}

/// A key with any name.
struct AnyKey: CodingKey, Hashable, Sendable {
  var stringValue: String
  var intValue: Int? { Int(stringValue) }

  init(_ stringValue: String) { self.stringValue = stringValue }
  init(stringValue: String) { self.stringValue = stringValue }
  init(intValue: Int) { stringValue = "\(intValue)" }
}

/// A character that a literal may not have.
func scalar(_ value: UInt32) -> String { UnicodeScalar(value).map { String(Character($0)) } ?? "" }
