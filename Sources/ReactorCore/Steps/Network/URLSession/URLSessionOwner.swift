import Foundation
import HTTPTypes
import HTTPTypesFoundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A `URLSession` and its transfers. It invalidates the session when it is released, since a
/// session otherwise retains itself and its delegate for ever.
final class URLSessionOwner: Sendable {
  private let session: URLSession
  private let delegate = URLSessionTransfers()

  /// Creates an owner without connections, whose session has the same cookies.
  init(like other: URLSessionOwner) {
    session = URLSession(configuration: other.session.configuration, delegate: delegate, delegateQueue: nil)
  }

  init(usesCookies: Bool) {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.urlCredentialStorage = nil
    configuration.httpShouldSetCookies = usesCookies
    configuration.httpCookieAcceptPolicy = usesCookies ? .onlyFromMainDocumentDomain : .never
    if !usesCookies { configuration.httpCookieStorage = nil }
    // The transport has its own deadline. The platform's must be finite: Linux converts it to an
    // integer.
    configuration.timeoutIntervalForRequest = Self.week
    configuration.timeoutIntervalForResource = Self.week
    session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  }

  deinit { session.invalidateAndCancel() }

  /// Sends one request and waits until `transfer` is finished.
  func perform(
    _ request: HTTPRequest, body: Data?, transfer: URLSessionTransfer
  ) async throws -> URLSessionTransfer.Output {
    let urlRequest = try URLRequest(request, body: body)
    do {
      return try await withTaskCancellationHandler {
        // Not from the file of a form: on Linux, such a task was seen to end the process
        // (swift-corelibs-foundation of Swift 6.3.1).
        transfer.start { task(urlRequest, for: transfer) }
        return try await transfer.outcome.value.get()
      } onCancel: {
        transfer.cancel()
      }
    } catch {
      throw URLSessionFailure.mapped(error)
    }
  }

  /// Returns a task whose calls of the delegate go to `exchange`.
  func task(_ request: URLRequest, for exchange: any URLSessionExchange) -> URLSessionTask {
    delegate.makeTask(request, in: session, for: exchange)
  }

  private static let week: TimeInterval = 7 * 24 * 3600
}

/// One task of a session, as its delegate sees it.
protocol URLSessionExchange: AnyObject, Sendable {
  /// Records how many bytes of the request's body have left.
  func sent(_ count: Int64)
  /// Records the head of the response.
  func received(_ response: HTTPResponse)
  /// Records the next bytes of the body.
  func received(_ data: Data)
  /// Ends the exchange after the platform has completed the task.
  ///
  /// - Parameter late: the response if the platform announced none, as for a redirect without a
  ///   target on Linux.
  func completed(_ error: (any Error)?, late: HTTPResponse?)
  /// Ends the exchange because the connection was lost. The platform would send the request again
  /// without its body.
  func connectionLost()
}

/// The delegate of the session, which finds the exchange of each task. Called on the session's
/// serial queue.
private final class URLSessionTransfers: NSObject, URLSessionDataDelegate {
  /// The exchanges by task identifier, from before the task's start until its completion.
  private let transfers = Mutex<[Int: any URLSessionExchange]>([:])

  func makeTask(
    _ request: URLRequest, in session: URLSession, for exchange: any URLSessionExchange
  ) -> URLSessionTask {
    let task = session.dataTask(with: request)
    transfers.withLock { $0[task.taskIdentifier] = exchange }
    return task
  }

  private func transfer(of task: URLSessionTask) -> (any URLSessionExchange)? {
    transfers.withLock { $0[task.taskIdentifier] }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    transfer(of: task)?.sent(totalBytesSent)
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    if let response = (response as? HTTPURLResponse)?.received { transfer(of: dataTask)?.received(response) }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    transfer(of: dataTask)?.received(data)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let transfer = transfers.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    transfer?.completed(error, late: (task.response as? HTTPURLResponse)?.received)
  }

  /// Declines the redirect, which becomes the response. The transport follows it itself.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }

  #if canImport(FoundationNetworking)
    /// Called if a kept-alive connection turned out to be closed. libcurl sends the request again
    /// on a new connection and needs the body again, which Foundation on Linux never supplies.
    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
      transfer(of: task)?.connectionLost()
      completionHandler(nil)
    }

    /// Called after the whole of a 401 has arrived. Foundation would wait for credentials for ever.
    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      transfer(of: task)?.completed(nil, late: (task.response as? HTTPURLResponse)?.received)
      completionHandler(.cancelAuthenticationChallenge, nil)
    }
  #endif
}
