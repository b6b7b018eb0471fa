public import Foundation
public import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The reason why a fetch, a save or a removal failed.
///
/// ```swift
/// do {
///   show(try await stories.fetch("stories"))
/// } catch .noConnectivity, .timedOut {
///   showOffline()
/// } catch .server(let response, _) where response.status == .notFound {
///   showRemoved()
/// } catch {
///   report(error)
/// }
/// ```
///
/// Its `description` is a sentence for logs and developers: the request as in ``request``, what
/// happened, and the remedy.
///
/// Neither `description` nor `dump` shows a secret. Of a request, they show the method, host and
/// path; of a response, the status and size, but no query, header field or body. Two bodies are
/// exceptions: of a 401 or 403, they show the server's words about the credential, in JSON, without
/// words that may be a secret (<doc:Secrets>); of a body that cannot be parsed, the excerpt of the
/// ``ParserError``. Of another library's error in ``authentication(_:)``, whose words may quote a
/// token, they show the type and case.
@nonexhaustive public indirect enum ReactorError: Error, Sendable {
  // Indirect, because every state, event and outcome has room for an error, and most have none.

  /// There is no connectivity, and no stored value that the policy may use. No request was sent.
  case noConnectivity
  /// The caller was cancelled, or the resource was removed while the caller waited.
  case cancelled
  /// The transport's timeout elapsed. A transport throws ``timedOut``, and the reactor adds the
  /// request, in the form of ``request``.
  case timedOut(request: String?)
  /// ``FetchPolicy/cacheOnly`` found neither a model in memory nor a record on disk.
  case notCached
  /// The resource cannot be requested. Its path is an absolute URL or leaves the base URL, a header
  /// field cannot be sent, or the method does not fit the call. The text says what is wrong and
  /// what to do.
  case invalidResource(String)
  /// The transport, a middleware or a custom network step failed with its own error.
  case network(any Error)
  /// Signing in failed. Let the user sign in again.
  ///
  /// Either the server refused the credential and `Authenticator.refresh(_:)` failed with this
  /// error, or the user has signed out (``SignedOut``). Every request that waited for the refresh
  /// fails with this error, without a retry.
  case authentication(any Error)
  /// The server answered with a status that is not a success.
  ///
  /// The response has a field `Reactor-Request` that the server did not send: the request, in the
  /// form of ``request``. With `Reactor-Unsaved-Body`, it comes from a store that has no body of
  /// it, as for a refused write after a restart; the value is the size in bytes, if it is known.
  case server(HTTPResponse, body: Data)
  /// The body could not be parsed.
  case parser(ParserError)
  /// The persistence failed. A removal throws this error; a save throws it only with
  /// ``ReactorConfiguration/Saving/required``.
  case persistence(any Error)
  /// Steps of a flow would wait for each other for ever, or a step for itself.
  ///
  /// This happens when a step of one key awaits another key, whose own step awaits the first. The
  /// call that would close the cycle fails at once, and the others continue. Let one of the steps
  /// return before it uses the other's resource.
  case deadlock(keys: [RecordKey])
  /// The backend's transport returns only whole bodies: it is no ``StreamingTransport``. Nothing
  /// was sent.
  case streamingUnsupported
}

extension ReactorError {
  /// ``timedOut(request:)`` as a transport throws it: without the request.
  public static var timedOut: ReactorError { .timedOut(request: nil) }

  /// The method, host and path of the request that failed, without its query:
  /// `GET api.example.com/posts`.
  ///
  /// `nil` if no request was sent, and if the error of a transport or of a step has no room for it.
  public var request: String? { FailedRequest.text(of: self).map(FailedRequest.requestOnly) }

  /// The failure in words, without the request and without advice, for a line that names the
  /// request itself.
  package var reason: String {
    switch self {
    case .noConnectivity: "no connectivity"
    case .cancelled: "cancelled"
    case .timedOut: "timed out"
    case .notCached: "not cached"
    case .invalidResource(let reason): "invalid resource: \(reason)"
    case .network(let error as ReactorError): error.reason
    case .network(let error as URLError): URLErrorText(error).reason
    case .network(let error as TransportError): Redaction.describe(error)
    case .authentication(let error): "signing in failed: \(Redaction.describe(ofSignIn: error))"
    case .network(let error): "the request failed: \(Redaction.describe(error))"
    case .server(let response, let body):
      "the server answered \(response.status.code)" + Self.size(of: body, in: response)
        + (RefusalText(response, body).text.map { ": \($0)" } ?? "")
    case .parser(let error): "the response cannot be read: \(error)"
    case .persistence(let error): "the store failed: \(Redaction.describe(error))"
    case .deadlock(let keys):
      "deadlock: these steps would wait for each other forever: \(keys.map(\.description).joined(separator: ", "))"
    case .streamingUnsupported: "the transport of the backend cannot stream a response"
    }
  }

  /// The failure in words, without those of another library's error: of a request that was not
  /// sent for lack of a credential, where they may quote a token.
  package var reasonOfSignIn: String { Redaction.reason(ofSignIn: self) }

  private var isOfQuery: Bool { request?.hasPrefix("QUERY ") == true }

  private var advice: String? {
    switch self {
    case .noConnectivity: "nothing was sent; try again when the device is online"
    case .timedOut: "the server did not answer in time; try again, or allow the transport more time"
    case .notCached: "it is neither in memory nor in the store; fetch it with a policy that asks the network"
    case .network(let error as ReactorError): error.advice
    case .network(let error as URLError): URLErrorText(error).advice
    case .network(let error as TransportError): error.advice
    case .authentication: "sign in again"
    case .server(let response, _): (isOfQuery ? response.queryAdvice : nil) ?? response.status.advice
    case .deadlock: "let one step return before it fetches or saves the other's resource"
    case .streamingUnsupported: "use URLSessionTransport, AsyncHTTPClientTransport or another StreamingTransport"
    case .cancelled, .invalidResource, .network, .parser, .persistence: nil
    }
  }
}

extension ReactorError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// A sentence: the request if it is known, what happened, and the remedy.
  public var description: String {
    (FailedRequest.text(of: self).map { "\($0): " } ?? "") + reason + (advice.map { "; \($0)" } ?? "")
  }

  /// The same text as `description`. Swift prints it for an uncaught error.
  public var debugDescription: String { description }

  /// Only the redacted description, so that `dump` shows no secret.
  public var customMirror: Mirror { Mirror(self, children: ["description": description], displayStyle: .enum) }
}

extension ReactorError: LocalizedError {
  /// The same text as `description`.
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
  /// A Boolean value that indicates whether *the network failed*, so that a stale fallback is
  /// allowed: no connectivity, timed out, the transport's error, and 500, 502, 503, 504 (RFC 5861
  /// §4). Never a cancellation, a parser's error or another status.
  package var isNetworkFailure: Bool {
    switch self {
    case .noConnectivity, .timedOut, .network: true
    case .server(let response, _): [500, 502, 503, 504].contains(response.status.code)
    case .cancelled, .notCached, .invalidResource, .authentication, .parser, .persistence, .deadlock,
      .streamingUnsupported:
      false
    }
  }
}

extension ReactorError {
  /// A Boolean value that indicates whether the server does not have the resource: 404 and 410.
  package var isGone: Bool {
    if case .server(let response, _) = self { response.status == .notFound || response.status == .gone } else { false }
  }

  /// Converts an error that a step threw. A ``ReactorError`` is passed on, a cancellation becomes
  /// ``cancelled``, and other errors are wrapped.
  ///
  /// - Parameter wrap: ``network(_:)`` or ``persistence(_:)``, for errors that fit no other case.
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
