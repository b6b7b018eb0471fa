import Hummingbird
import Synchronization

/// The last requests, with what became of them.
final class RequestLog: Sendable {
  struct Entry: Codable, Sendable, ResponseEncodable {
    var method: String
    /// With its query.
    var path: String
    var status: Int
  }

  private static let limit = 1_000
  private let entries = Mutex<[Entry]>([])

  var requests: [Entry] { entries.withLock(\.self) }

  func add(_ entry: Entry) {
    entries.withLock { entries in
      if entries.count == Self.limit { entries.removeFirst() }
      entries.append(entry)
    }
  }

  func removeAll() { entries.withLock { $0 = [] } }
}

struct RequestLogging: RouterMiddleware {
  let log: RequestLog

  func handle(
    _ request: Request, context: NewsContext, next: @concurrent (Request, NewsContext) async throws -> Response
  ) async throws -> Response {
    do {
      let response = try await next(request, context)
      add(request, response.status)
      return response
    } catch {
      add(request, (error as? any HTTPResponseError)?.status ?? .internalServerError)
      throw error
    }
  }

  private func add(_ request: Request, _ status: HTTPResponse.Status) {
    log.add(RequestLog.Entry(method: request.method.rawValue, path: request.uri.string, status: status.code))
  }
}
