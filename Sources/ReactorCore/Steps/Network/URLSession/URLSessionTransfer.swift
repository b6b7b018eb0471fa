import Foundation
import HTTPTypes
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One task of a `URLSession`. It collects the response and ends once: through the platform, a
/// limit or the caller, whichever comes first.
final class URLSessionTransfer: URLSessionExchange {
  typealias Output = (HTTPResponse, Data)

  private struct State {
    var task: URLSessionTask?
    var isOver = false
    /// A Boolean value that indicates whether a part of the request's body has left.
    var hasSent = false
    var response: HTTPResponse?
    var body = Data()
  }

  private let state = Mutex(State())
  /// The result of the transfer.
  let outcome = OneShot<Result<Output, any Error>>()
  private let method: HTTPRequest.Method
  private let maximumSize: Int
  private let report: TransferReport

  init(method: HTTPRequest.Method, maximumSize: Int, report: TransferReport) {
    self.method = method
    self.maximumSize = maximumSize
    self.report = report
  }

  /// Creates and resumes the task, unless the exchange was cancelled before.
  func start(_ makeTask: () -> URLSessionTask) {
    guard !state.withLock(\.isOver) else { return }
    let task = makeTask()
    let isOver = state.withLock { state in
      state.task = task
      return state.isOver
    }
    // Resumed in any case: a task that was never resumed stays in its session's registry.
    task.resume()
    if isOver { task.cancelLater() }
  }

  func cancel() { end(.failure(CancellationError())) }

  func connectionLost() { end(.failure(URLError(.networkConnectionLost))) }

  func sent(_ count: Int64) {
    if count > 0 { state.withLock { $0.hasSent = true } }
    report.sent(count)
  }

  func received(_ response: HTTPResponse) {
    // An interim response; the final one follows (RFC 9110 §15.2).
    guard response.status.kind != .informational else { return }
    guard !response.hasInvalidLength else { return end(.failure(URLError(.badServerResponse))) }
    let announced = response.announcedLength(of: method)
    state.withLock { $0.response = response }
    if response.status.kind != .redirection { report.answered(expected: announced) }
    if let announced, announced > maximumSize { endTooLarge() }
  }

  func received(_ data: Data) {
    let (isTooLarge, count) = state.withLock { state -> (Bool, Int?) in
      guard !state.isOver else { return (false, nil) }
      if data.count > maximumSize - state.body.count { return (true, nil) }
      state.body.append(data)
      return (false, state.response?.status.kind == .redirection ? nil : state.body.count)
    }
    guard !isTooLarge else { return endTooLarge() }
    if let count { report.received(count) }
  }

  func completed(_ error: (any Error)?, late: HTTPResponse?) {
    let (response, body, hasSent) = state.withLock { ($0.response, $0.body, $0.hasSent) }
    if let error {
      return end(.failure(URLSessionFailure.refined(error, response: response, hasSent: hasSent)))
    }
    guard let response else {
      return end(late.map { .success(($0, Data())) } ?? .failure(URLError(.badServerResponse)))
    }
    if let announced = response.announcedLength(of: method), body.count < announced {
      return end(.failure(URLError(.networkConnectionLost)))
    }
    end(.success((response.decoded(), body)))
  }

  private func endTooLarge() { end(.failure(TransportError.responseTooLarge(limit: maximumSize))) }

  /// Ends the transfer. Only the first call counts.
  private func end(_ outcome: Result<Output, any Error>) {
    let (isFirst, task) = state.withLock { state in
      let isFirst = !state.isOver
      state.isOver = true
      state.body = Data()
      return (isFirst, state.task)
    }
    guard isFirst else { return }
    if case .failure = outcome { task?.cancelLater() }
    self.outcome.settle(outcome)
  }
}

extension HTTPResponse {
  /// Returns the response without the fields that described the coded body.
  func decoded() -> HTTPResponse {
    let codings = contentCodings
    guard !codings.isEmpty, codings.allSatisfy(Self.decodedCodings.contains) else { return self }
    var response = self
    response.headerFields[.contentEncoding] = nil
    response.headerFields[.contentLength] = nil
    return response
  }

  /// The content codings that URLSession decodes by itself.
  private static let decodedCodings: Set<String> = ["gzip", "x-gzip", "deflate", "br", "zstd"]
}

/// The mapping of the platform's errors to ``TransportError``.
enum URLSessionFailure {
  static func mapped(_ error: any Error) -> any Error {
    switch (error as? URLError)?.code {
    case .cancelled?: CancellationError()
    case .timedOut?: ReactorError.timedOut
    case .notConnectedToInternet?: ReactorError.noConnectivity
    case .badURL?: ReactorError.invalidResource("URLSession cannot use this URL; check its host and port")
    default: error
    }
  }

  /// Returns a specific error where Linux reports only "unknown".
  ///
  /// - Parameters:
  ///   - response: the response, if its head has arrived.
  ///   - hasSent: `true` if a part of the request's body has left.
  static func refined(_ error: any Error, response: HTTPResponse?, hasSent: Bool) -> any Error {
    #if canImport(FoundationNetworking)
      guard let error = error as? URLError else { return error }
      let cause: [String: any Sendable] = [
        NSUnderlyingErrorKey: error, NSLocalizedDescriptionKey: error.localizedDescription,
      ]
      switch (error.code, response) {
      // libcurl's CURLE_BAD_CONTENT_ENCODING, CURLE_PARTIAL_FILE or CURLE_RECV_ERROR.
      case (.unknown, let response?):
        let isLost = !response.isCoded || saysLost(error.localizedDescription)
        return URLError(isLost ? .networkConnectionLost : .cannotDecodeContentData, userInfo: cause)
      // libcurl's CURLE_PEER_FAILED_VERIFICATION and CURLE_SSL_CONNECT_ERROR, recognizable only by
      // their texts. An error after the handshake names the function that met it first.
      case (.unknown, nil) where error.localizedDescription.hasPrefix("SSL certificate problem"):
        return URLError(.serverCertificateUntrusted, userInfo: cause)
      case (.unknown, nil) where !hasSent && saysNoHandshake(error.localizedDescription):
        return URLError(.secureConnectionFailed, userInfo: cause)
      // libcurl's CURLE_UNSUPPORTED_PROTOCOL: the response is not HTTP/1. The request's scheme was
      // checked.
      case (.unsupportedURL, nil):
        return URLError(.badServerResponse, userInfo: cause)
      // A kept-alive connection was lost after the request was sent. libcurl then sends it again,
      // and reports only that it could not connect for that.
      // Foundation says the same of any failure after one of the host's addresses has refused. The
      // text is libcurl's.
      case (.cannotConnectToHost, nil) where hasSent || !error.localizedDescription.contains("connect to"):
        return URLError(.networkConnectionLost, userInfo: cause)
      default:
        return error
      }
    #else
      return error
    #endif
  }

  #if canImport(FoundationNetworking)
    /// Returns `true` for libcurl's texts about a connection that ended within a response.
    private static func saysLost(_ text: String) -> Bool {
      ["transfer closed", "Recv failure", "SSL_read", "not closed cleanly"].contains { text.contains($0) }
    }

    /// Returns `true` for the texts of libcurl with OpenSSL and with GnuTLS.
    private static func saysNoHandshake(_ text: String) -> Bool {
      let isOpenSSL = ["error:", "OpenSSL/"].contains { text.hasPrefix($0) } && text.contains("SSL routines")
      return isOpenSSL || ["OpenSSL SSL_connect", "gnutls_handshake"].contains { text.hasPrefix($0) }
    }
  #endif
}

extension URLSessionTask {
  /// Cancels on a separate queue. Cancelling waits for the session's queue, and the caller may hold
  /// the lock of its Swift task, which that queue may be waiting for (swift-corelibs-foundation,
  /// issue 5412). So is the owner released, whose session then cancels its tasks too.
  func cancelLater(releasing owner: URLSessionOwner? = nil) {
    URLSessionCancellation.queue.async {
      self.cancel()
      withExtendedLifetime(owner) {}
    }
  }
}

private enum URLSessionCancellation {
  static let queue = DispatchQueue(label: "reactor.urlsession.cancellation")
}
