import FastJSON
import Foundation

/// The parts of an error that are compared.
struct Failure: CustomStringConvertible {
  var kind: String
  var path: String
  var steps: [String] = []
  /// Of the error's ``FastJSONError``.
  var own: FastJSONError?

  init(_ error: any Error) {
    guard let error = error as? DecodingError else {
      let isOfModel = error is Thrower.Own
      (kind, path) = isOfModel ? ("\(error)", "") : ("dataCorrupted", Self.noPath)
      return
    }
    let context: DecodingError.Context
    switch error {
    case .typeMismatch(_, let it): (kind, context) = ("typeMismatch", it)
    case .valueNotFound(_, let it): (kind, context) = ("valueNotFound", it)
    case .keyNotFound(let key, let it): (kind, context) = ("keyNotFound \(key.stringValue)", it)
    case .dataCorrupted(let it): (kind, context) = ("dataCorrupted", it)
    @unknown default: (kind, context) = ("unknown", DecodingError.Context(codingPath: [], debugDescription: ""))
    }
    own = context.underlyingError as? FastJSONError
    let isFoundationsOwn =
      context.codingPath.isEmpty && context.debugDescription == "The given data was not valid JSON."
    steps = context.codingPath.map(\.stringValue)
    path = isFoundationsOwn ? Self.noPath : names(context.codingPath)
  }

  /// For Foundation's private errors, which `decode` turns into `dataCorrupted` if the model lets
  /// them through.
  static let noPath = "?"
  static let foundationsOwn = "dataCorrupted \(noPath)"

  var description: String { "! \(kind) \(path)" }
}

/// The result of decoding, written down.
enum Outcome: CustomStringConvertible {
  case value([String])
  case failure(Failure)

  init<Value>(_ body: () throws -> Value) {
    do {
      self = .value(render(try body()).split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
    } catch { self = .failure(Failure(error)) }
  }

  var lines: [String] {
    switch self {
    case .value(let lines): lines
    case .failure(let failure): ["\(failure)"]
    }
  }

  var description: String { lines.joined(separator: "\n") }
}

/// A path, each element with its number.
func names(_ path: [any CodingKey]) -> String {
  path.map { $0.stringValue.debugDescription }.joined(separator: ".")
}

/// The value that `body` returns, or its error.
func attempt<Value>(_ body: () throws -> Value) -> String {
  do { return "= \(render(try body()))" } catch { return "\(Failure(error))" }
}

/// A value as text: equal for equal values, but not for values that only `==` considers equal, such
/// as -0.0 and 0.0, or strings in two normal forms.
func render(_ value: Any) -> String {
  switch value {
  case let value as String: return value.debugDescription
  case let value as Date: return "\(value.timeIntervalSinceReferenceDate) s"
  case let value as Data: return value.base64EncodedString()
  case let value as URL: return value.absoluteString.debugDescription
  case let value as Decimal: return "\(value) m"
  case is Void: return "()"
  case let keeper as Keeper: return render(keeper.witness) + render(keeper.inner as Any)
  case let log as [String] where log.first?.hasPrefix("at ") == true: return "\n" + log.joined(separator: "\n") + "\n"
  default: break
  }
  let mirror = Mirror(reflecting: value)
  let fields = children(of: mirror)
  switch mirror.displayStyle {
  case .set, .dictionary: return "{" + fields.sorted().joined(separator: ", ") + "}"
  case .collection: return "[" + fields.joined(separator: ", ") + "]"
  case .optional: return fields.first.map { "some " + $0 } ?? "nil"
  case .enum: return "." + (fields.first ?? "\(value)")
  case nil: return "\(value)"
  default: return fields.isEmpty ? "\(value)" : "(" + fields.joined(separator: ", ") + ")"
  }
}

private func children(of mirror: Mirror) -> [String] {
  let inherited = mirror.superclassMirror.map { children(of: $0) } ?? []
  return inherited
    + mirror.children.map { child in
      let text = child.label == "log" ? "\n" + ((child.value as? [String]) ?? []).joined(separator: "\n") + "\n" : nil
      return (child.label.map { "\($0): " } ?? "") + (text ?? render(child.value))
    }
}
