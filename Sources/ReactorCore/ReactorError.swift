public import Foundation
public import HTTPTypes

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
