import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// The key of a request, which is its user's own.
struct IdempotencyKey: Codable, Hashable, Sendable {
  var user: User.ID
  var key: String
}

/// The answer to a request with a key, for its repetitions.
struct RememberedAnswer: Codable, Sendable {
  /// A day, as clients expect who say nothing else.
  static let lifetime: TimeInterval = 86_400

  /// Of the request: method, path and body.
  var fingerprint: String
  var location: String
  var body: Data
  var date: Date

  var response: Response {
    Response(
      status: .created, headers: [.location: location, .contentType: "application/json"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
  }
}

/// A request with a key, as its route gets it. The route remembers the answer in the change that it
/// makes.
struct Idempotency: Sendable {
  var key: IdempotencyKey
  var fingerprint: String
}

/// Answers a request that comes again under its `Idempotency-Key` as the first time
/// (draft-ietf-httpapi-idempotency-key-header).
///
/// The key with another request is a 422, and a 409 while the first one is still under way. A
/// refusal is not remembered: the same request is refused for the same reason.
struct IdempotentRequests: RouterMiddleware {
  let archive: NewsArchive
  let underWay = UnderWay()

  func handle(
    _ request: Request, context: NewsContext, next: @concurrent (Request, NewsContext) async throws -> Response
  ) async throws -> Response {
    guard request.method == .post, let user = context.user, let key = request.headers.idempotencyKey else {
      return try await next(request, context)
    }
    var (request, context) = (request, context)
    let body = try await request.collectBody(upTo: context.maxUploadSize)
    let idempotency = Idempotency(
      key: IdempotencyKey(user: user.id, key: key),
      fingerprint: EntityTag.of(Data("\(request.method) \(request.uri.path) ".utf8) + Data(body.readableBytesView)))
    guard underWay.begin(idempotency.key) else {
      throw HTTPError(.conflict, message: "The first request with this key is still under way.")
    }
    defer { underWay.end(idempotency.key) }
    if let answer = archive.read({ $0.answers[idempotency.key] }) {
      guard answer.fingerprint == idempotency.fingerprint else {
        throw HTTPError(.unprocessableContent, message: "This key belongs to another request.")
      }
      return answer.response
    }
    context.idempotency = idempotency
    return try await next(request, context)
  }
}

/// The keys of the requests that are being answered.
final class UnderWay: Sendable {
  private let keys = Mutex<Set<IdempotencyKey>>([])

  /// - Returns: `false` if another request with the key is under way.
  func begin(_ key: IdempotencyKey) -> Bool { keys.withLock { $0.insert(key).inserted } }

  func end(_ key: IdempotencyKey) { keys.withLock { _ = $0.remove(key) } }
}

extension HTTPFields {
  fileprivate var idempotencyKey: String? { HTTPField.Name("Idempotency-Key").flatMap { self[$0] } }
}
