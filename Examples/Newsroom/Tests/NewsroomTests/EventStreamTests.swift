import Foundation
import HTTPTypes
import ReactorChangeFeed
import ReactorCore
import Testing

@Suite(.timeLimit(.minutes(2))) struct `The streams of changes` {
  private static let farewell = "event: bye\ndata: {}\n\n"

  private func stream(_ news: RunningNews, token: String? = nil) async throws -> ResponseBody {
    let headers: HTTPFields = token.map { [.authorization: "Bearer \($0)"] } ?? [:]
    return try await Backend(baseURL: news.api).stream(for: Resource("events", headers: headers)).body
  }

  private func rest(of body: ResponseBody) async throws -> String {
    var text = ""
    for try await piece in body { text += String(decoding: piece, as: UTF8.self) }
    return text
  }

  @Test func `a stream beyond the limit is a 503 that says when to come back`() async throws {
    var changes = ChangeFeedConfiguration()
    changes.clients = 1
    try await RunningNews.use(changes: changes) { news in
      let first = try await stream(news)
      let refused = try await news.ask(.get, "/events")
      #expect(refused.status == 503 && refused.fields[.retryAfter] == "10")
      withExtendedLifetime(first) {}
    }
  }

  @Test func `a ninth stream of a user is a 429, and other users have theirs`() async throws {
    try await RunningNews.use { news in
      let (ada, grace) = (try await news.token(of: "ada"), try await news.token(of: "grace"))
      var streams: [ResponseBody] = []
      for _ in 0..<8 { streams.append(try await stream(news, token: ada)) }
      let refused = try await news.ask(.get, "/events", by: ada)
      #expect(refused.status == 429 && refused.fields[.retryAfter] == "60")
      streams.append(try await stream(news, token: grace))
      withExtendedLifetime(streams) {}
    }
  }

  @Test func `a client that prefers to wait is answered once, with what has changed behind its place`() async throws {
    try await RunningNews.use { news in
      let ada = try await news.token(of: "ada")
      let fields: [(String, String)] = [("Authorization", "Bearer \(ada)"), ("Prefer", "wait=20")]
      func poll(behind place: String? = nil) async throws -> String {
        var headers = HTTPFields()
        for (name, value) in fields + (place.map { [("Last-Event-ID", $0)] } ?? []) {
          if let name = HTTPField.Name(name) { headers[name] = value }
        }
        let stream = try await Backend(baseURL: news.api).stream(for: Resource("events", headers: headers))
        return try await rest(of: stream.body)
      }
      let first = try await poll()
      let start = try #require(first.firstRange(of: "\"head\":\"")?.upperBound)
      _ = try await news.ask(.put, "/reading-list/3", by: ada)
      let second = try await poll(behind: String(first[start...].prefix { $0 != "\"" }))
      #expect(second.contains("\"resumed\":true") && second.contains("/reading-list"))
      #expect(!second.contains("event: bye"))
    }
  }

  @Test func `the end of the newsroom is told, and no stream delays it`() async throws {
    var body: ResponseBody?
    try await RunningNews.use { news in body = try await stream(news) }
    let text = try await rest(of: try #require(body))
    #expect(text.contains("event: hello\n") && text.hasSuffix(Self.farewell))
  }

  @Test func `the streams of a user end as the user signs out, and those of others go on`() async throws {
    try await RunningNews.use { news in
      let (ada, grace) = (try await news.token(of: "ada"), try await news.token(of: "grace"))
      let body = try await stream(news, token: grace)
      let other = try await stream(news, token: ada)
      #expect(try await news.ask(.delete, "/session", by: grace).status == 204)
      #expect(try await rest(of: body).hasSuffix(Self.farewell))
      #expect(try await news.ask(.get, "/events", by: grace).status == 401)
      _ = try await news.ask(.put, "/reading-list/3", by: ada)
      var told = ""
      for try await piece in other {
        told += String(decoding: piece, as: UTF8.self)
        if told.contains("/reading-list") { break }
      }
      #expect(!told.contains("event: bye"))
    }
  }
}
