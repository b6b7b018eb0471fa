/// An error that prevents a cassette from being played.
@nonexhaustive public enum CassetteError: Error, Sendable, Hashable {
  /// The file is missing, or cannot be read.
  case unreadable(file: String, reason: String)
  /// The file is not a cassette. `path` locates the fault, such as `exchanges[1].response.status`.
  case malformed(path: String, reason: String)
  /// The file is of another version than ``Cassette/currentVersion``.
  case unknownVersion(Int)
  /// The request matches no recorded request that is left.
  ///
  /// `exchange` is the number of the most similar exchange, from 1. `difference` has a line for
  /// each part of both: `-` precedes a part that only the recorded request has, `+` a part that
  /// only the new request has.
  case unmatched(request: String, exchange: Int, difference: String)
  /// All exchanges, or all exchanges of this request, were already played.
  case exhausted(request: String, played: Int)
}

extension CassetteError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unreadable(let file, let reason): "the cassette \(file) cannot be read: \(reason)"
    case .malformed(let path, let reason):
      "the cassette is malformed\(path.isEmpty ? "" : " at \(path)"): \(reason); correct it, or record it again"
    case .unknownVersion(let version):
      "the cassette has version \(version), but this library reads version \(Cassette.currentVersion); record it again"
    case .unmatched(let request, let exchange, let difference):
      "nothing was recorded for \(request); record the cassette again, or send the recorded request. Exchange \(exchange) comes closest:\n\(difference)"
    case .exhausted(let request, let played):
      "the cassette is exhausted: \(request) was requested again after all \(played) recorded exchanges had been played; record it again"
    }
  }
}

extension CassetteError {
  init(_ error: DecodingError) {
    let (context, last): (DecodingError.Context, (any CodingKey)?) =
      switch error {
      case .keyNotFound(let key, let context): (context, key)
      case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context): (context, nil)
      @unknown default: (DecodingError.Context(codingPath: [], debugDescription: "\(error)"), nil)
      }
    let path = (context.codingPath + [last].compactMap(\.self)).reduce(into: "") { path, key in
      if let index = key.intValue {
        path += "[\(index)]"
      } else {
        path += (path.isEmpty ? "" : ".") + key.stringValue
      }
    }
    self = .malformed(path: path, reason: context.debugDescription)
  }
}
