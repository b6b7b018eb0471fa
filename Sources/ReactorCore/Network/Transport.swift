public import Foundation
public import HTTPTypes

/// Sends one request and gives back the whole response.
///
/// A conformer is called concurrently and from any isolation. It adds nothing that caches: freshness, validators
/// and storage are decided by `HTTPCache`. It reports what failed in its own words; the flow turns an
/// error that is no ``ReactorError`` into ``ReactorError/network(_:)``.
///
/// It follows no redirects by itself, or leaves them to a transport of this package that it wraps: only that tells of them. An answer
/// that came over others is stored as if the URL that was asked for had given it, with the validators and the freshness of another.
public protocol Transport: Sendable {
  /// Sends `request` with `body` and returns the response, whatever its status, with the whole of its body.
  ///
  /// Cancelling the calling task ends the exchange; the call then throws at once.
  ///
  /// - Parameters:
  ///   - request: an absolute request: scheme, authority and path are set.
  ///   - body: the bytes to send; `nil` for none.
  ///   - progress: called any number of times, in order, from any isolation, not after the call has returned.
  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data)
}
