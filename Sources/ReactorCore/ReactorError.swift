public import Foundation
public import HTTPTypes

/// Why a value could not be had.
///
/// Neither `description` nor `dump` of an error shows a secret: of a request it names the method and the host,
/// of a response the status, never a header field.
@nonexhaustive public indirect enum ReactorError: Error, Sendable {
  // Indirect: states, events and outcomes have a place for one, and most have none.

  /// There is no connectivity, and nothing stored that the policy may use. Nothing was sent.
  case noConnectivity
  /// The caller was cancelled, or the resource was removed while the caller waited.
  case cancelled
  /// The transport's deadline passed.
  case timedOut
  /// ``FetchPolicy/cacheOnly`` found neither a model in memory nor a record on disk.
  case notCached
  /// The resource cannot be requested: an absolute URL, a path that leaves the base URL, a header field that
  /// cannot be sent. The text says which part, and what to do.
  case invalidResource(String)
  /// The transport failed with its own error.
  case network(any Error)
  /// Signing in failed: the server has refused the credential, and ``Authenticator/refresh(_:)`` has failed with this
  /// error, or the user has signed out (``SignedOut``). Every request that waited for the refresh gets it, and none is
  /// retried. Let the user sign in again.
  case authentication(any Error)
  /// The server answered with a status that is no success.
  case server(HTTPResponse, body: Data)
  /// The bytes are not what the parser expected.
  case parser(ParserError)
  /// The persistence failed, where the configuration says that this fails the fetch.
  case persistence(any Error)
  /// Steps of a flow wait for each other, or one for itself, so that none would ever go on: a step that is at work for one key awaits
  /// another key, whose own step awaits the first. The call that would have closed the circle fails with this at once, and
  /// the others go on. Let one of the steps return before it uses the other's resource.
  case deadlock(keys: [RecordKey])
}

extension ReactorError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String {
    switch self {
    case .noConnectivity: "no connectivity"
    case .cancelled: "cancelled"
    case .timedOut: "timed out"
    case .notCached: "not cached"
    case .invalidResource(let reason): "invalid resource: \(reason)"
    case .network(let error): "network: \(Redaction.describe(error))"
    case .authentication(let error): "signing in failed: \(Redaction.describe(error))"
    case .server(let response, let body): "server: status \(response.status.code), \(body.count) bytes"
    case .parser(let error): "parser: \(error)"
    case .persistence(let error): "persistence: \(Redaction.describe(error))"
    case .deadlock(let keys):
      "deadlock: steps wait for each other and would never end: \(keys.map(\.description).joined(separator: ", ")); "
        + "let a step return before it uses a resource whose own step uses this one"
    }
  }

  public var debugDescription: String { "ReactorError(\(description))" }

  /// What `dump` shows: the redacted description alone.
  public var customMirror: Mirror { Mirror(self, children: ["description": description], displayStyle: .enum) }
}

extension ReactorError: LocalizedError {
  public var errorDescription: String? { description }
}
