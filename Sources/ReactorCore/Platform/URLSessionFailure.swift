import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The platform's errors in the words of ``Transport``.
enum URLSessionFailure {
  static func mapped(_ error: any Error) -> any Error {
    switch (error as? URLError)?.code {
    case .cancelled?: CancellationError()
    case .timedOut?: ReactorError.timedOut
    case .notConnectedToInternet?: ReactorError.noConnectivity
    case .badURL?: ReactorError.invalidResource("URLSession cannot use the URL; look at its host and port")
    default: error
    }
  }

  /// An error that says what happened, where Linux says only "unknown".
  ///
  /// - Parameter response: as far as it had come.
  static func refined(_ error: any Error, response: HTTPResponse?) -> any Error {
    #if canImport(FoundationNetworking)
      guard let error = error as? URLError else { return error }
      let cause: [String: any Sendable] = [NSUnderlyingErrorKey: error]
      switch (error.code, response) {
      // libcurl's CURLE_BAD_CONTENT_ENCODING or CURLE_PARTIAL_FILE.
      case (.unknown, let response?):
        return URLError(response.isCoded ? .cannotDecodeContentData : .networkConnectionLost, userInfo: cause)
      // libcurl's CURLE_PEER_FAILED_VERIFICATION, told by its text alone.
      case (.unknown, nil) where error.localizedDescription.hasPrefix("SSL certificate problem"):
        return URLError(.serverCertificateUntrusted, userInfo: cause)
      // libcurl's CURLE_UNSUPPORTED_PROTOCOL: the answer is not HTTP/1. The request's scheme was checked.
      case (.unsupportedURL, nil):
        return URLError(.badServerResponse, userInfo: cause)
      default:
        return error
      }
    #else
      return error
    #endif
  }
}

extension URLSessionTask {
  /// Cancels on a queue of its own. Cancelling waits for the session's queue, and the caller may hold the lock of its
  /// Swift task, which that queue may be waiting for (swift-corelibs-foundation, issue 5412).
  func cancelLater() {
    URLSessionCancellation.queue.async { self.cancel() }
  }
}

private enum URLSessionCancellation {
  static let queue = DispatchQueue(label: "reactor.urlsession.cancellation")
}
