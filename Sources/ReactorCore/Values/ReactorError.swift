public import Foundation
public import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Why a value could not be had.
///
/// Its `description` is a sentence for a log or a developer: the request as ``request`` names it, what happened, and
/// what to do. Neither that nor `dump` shows a secret: of a request it has the method, the host and the path, of
/// a response the status and the size, never a query, a header field or a body. Of a body that cannot be
/// parsed it has the excerpt of the ``ParserError``.
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
  /// The server answered with a status that is no success. A field `Reactor-Request` among the response's, which
  /// no server sent, is the request as ``request`` names it.
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

extension ReactorError {
  /// The request that failed, as its method, host and path without its query:
  /// `GET api.example.com/posts`.
  ///
  /// `nil` where no request was sent, and where the error of a transport or of a step has no place
  /// for it.
  public var request: String? { FailedRequest.text(of: self) }

  /// What happened, without the request and without advice: for a line that names the request itself.
  package var reason: String {
    switch self {
    case .noConnectivity: "no connectivity"
    case .cancelled: "cancelled"
    case .timedOut: "timed out"
    case .notCached: "not cached"
    case .invalidResource(let reason): "invalid resource: \(reason)"
    case .network(let error as ReactorError): error.reason
    case .network(let error as URLError): URLErrorText(error).reason
    case .authentication(let error): "signing in failed: \(Redaction.describe(error))"
    case .network(let error): "the request failed: \(Redaction.describe(error))"
    case .server(let response, let body): "the server answered \(response.status.code), with \(body.count) bytes"
    case .parser(let error): "the response cannot be read: \(error)"
    case .persistence(let error): "the store failed: \(Redaction.describe(error))"
    case .deadlock(let keys):
      "deadlock: steps wait for each other and would never end: \(keys.map(\.description).joined(separator: ", "))"
    }
  }

  private var advice: String? {
    switch self {
    case .noConnectivity: "nothing was sent; try again when the device is online"
    case .timedOut: "the server did not answer in time; try again, or allow the transport more time"
    case .notCached: "neither memory nor the store has it; use a policy that asks the network"
    case .network(let error as ReactorError): error.advice
    case .network(let error as URLError): URLErrorText(error).advice
    case .authentication: "sign in again"
    case .server(let response, _): response.status.advice
    case .deadlock: "let a step return before it uses a resource whose own step uses this one"
    case .cancelled, .invalidResource, .network, .parser, .persistence: nil
    }
  }
}

extension ReactorError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// A sentence: the request where it is known, what happened, and what to do.
  public var description: String {
    (request.map { "\($0): " } ?? "") + reason + (advice.map { "; \($0)" } ?? "")
  }

  /// The same, since it is what Swift prints of an error that nobody catches.
  public var debugDescription: String { description }

  /// What `dump` shows: the redacted description alone.
  public var customMirror: Mirror { Mirror(self, children: ["description": description], displayStyle: .enum) }
}

extension ReactorError: LocalizedError {
  public var errorDescription: String? { description }
}

extension HTTPResponse.Status {
  fileprivate var advice: String? {
    switch code {
    case 401: "sign in, or check the credential"
    case 403: "check what the credential allows"
    case 404, 410: "check the base URL and the path"
    case 405: "check the method"
    case 429: "wait before the next request"
    case 500...599: "try again later"
    default: nil
    }
  }
}

extension ReactorError {
  /// A Boolean value that indicates whether *the network failed*, so that a stored copy may stand
  /// in: no connectivity, timed out, the transport's error, and 500, 502, 503, 504 (RFC 5861 §4).
  /// Never a cancellation, a parser's error or another status.
  var isNetworkFailure: Bool {
    switch self {
    case .noConnectivity, .timedOut, .network: true
    case .server(let response, _): [500, 502, 503, 504].contains(response.status.code)
    case .cancelled, .notCached, .invalidResource, .authentication, .parser, .persistence, .deadlock: false
    }
  }
}

extension ReactorError {
  /// What a step threw, as ours: a ``ReactorError`` passes, a cancellation is ``cancelled``, and the rest is wrapped.
  ///
  /// - Parameter wrap: ``network(_:)`` or ``persistence(_:)``, for an error that says nothing more precise.
  package init(_ error: any Error, wrap: (any Error) -> ReactorError) {
    self =
      switch error {
      case let error as ReactorError: error
      case is CancellationError: .cancelled
      case let error as ParserError: .parser(error)
      case let error as URLError where error.code == .cancelled: .cancelled
      case let error as URLError where error.code == .timedOut: .timedOut
      default: wrap(error)
      }
  }
}
