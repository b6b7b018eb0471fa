public import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

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
