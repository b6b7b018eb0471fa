import Foundation
import HTTPTypes
import ReactorCore
import ReactorMiddleware
import ReactorTesting
import TestSupport
import Testing

/// Tokens "1", "2" and so on, each of which a refresh replaces by the next.
final class ScriptedTokens: Sendable {
  /// The tokens that were to be replaced, in order.
  let refused = Shared<[String]>([])
  /// The error of a refresh from its beginning on; `nil` for none.
  let error = Shared<(any Error)?>(nil)
  /// Held at, where it is closed, by each refresh. Heeds cancellation.
  let gate = Gate(isOpen: true)
  /// The texts of the layer of tokens about its failures: its events, and the error that the
  /// refresh got.
  let texts = Shared<[String]>([])

  func next(_ credential: BearerToken.Credential, lifetime: TimeInterval?, clock: TestClock) async throws
    -> BearerToken.Credential
  {
    refused.change { $0.append(credential.token) }
    let error = error.value
    try await gate.wait()
    if let error { throw error }
    let number = (Int(credential.token) ?? 0) + 1
    return BearerToken.Credential("\(number)", refreshToken: "r\(number)", goodUntil: lifetime.map { clock.date + $0 })
  }
}

/// A store of tokens whose errors quote them.
enum TokenStore {
  struct Failure: Error, CustomStringConvertible, LocalizedError {
    let text: String
    var description: String { "cannot save \(text)" }
    var errorDescription: String? { description }
  }
}

/// The answer of a server of tokens.
struct TokenAnswer: Decodable, Sendable {
  let access: String

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Keys.self)
    access = try members.decode(String.self, forKey: .access)
    // A model's own check, whose words quote the answer.
    if members.contains(.until) { throw TokenStore.Failure(text: access) }
  }

  private enum Keys: String, CodingKey { case access, until }
}

/// Tests with bearer tokens over real connections: the API is a server on this machine.
protocol BearerTokenTesting {
  var clock: TestClock { get }
  var tokens: ScriptedTokens { get }
}

extension BearerTokenTesting {
  static var note: MockServer.Response { .json(Note(1, "one").json, headers: [.cacheControl: "no-store"]) }

  /// - Parameters:
  ///   - lifetime: the seconds for which each token is good; `nil` for any time.
  ///   - left: those of the first.
  func token(_ server: MockServer, lifetime: TimeInterval? = 3_600, left: TimeInterval? = nil) -> BearerToken {
    let goodUntil = (left ?? lifetime).map { clock.date + $0 }
    return BearerToken(
      BearerToken.Credential("1", refreshToken: "r1", goodUntil: goodUntil), origins: [server.url],
      now: clock.wallClock
    ) { [tokens, clock] in try await tokens.next($0, lifetime: lifetime, clock: clock) }
  }

  func layer(
    _ server: MockServer, _ token: BearerToken, retry: RetryPolicy = .never, remembersOutages: Bool = false
  ) -> ModelLayer {
    var configuration = ReactorConfiguration()
    configuration.retry = retry
    configuration.retry.firstDelay = .zero
    configuration.remembersOutages = remembersOutages
    if remembersOutages { configuration.clock = clock }
    return ModelLayer(
      backend: Backend(baseURL: server.url, authentication: token, reachability: .always),
      configuration: configuration)
  }

  /// The `Authorization` of each request; `-` for a request without one.
  func sent(_ server: MockServer) -> [String] { server.requests.map { $0["Authorization"] ?? "-" } }

  /// Runs `body` with a server of tokens, an API, and a token of it that has expired, which a layer
  /// without authentication refreshes.
  func run(
    accounts: @escaping @Sendable (MockServer.Request) -> MockServer.Response,
    notes: @escaping @Sendable (MockServer.Request) -> MockServer.Response,
    body: (_ accounts: MockServer, _ server: MockServer, _ token: BearerToken) async throws -> Void
  ) async throws {
    try await MockServer.run(accounts) { accounts async throws in
      try await MockServer.run(notes) { server async throws in
        var plain = ReactorConfiguration()
        plain.retry = .never
        plain.remembersOutages = false
        let layer = ModelLayer(baseURL: accounts.url, configuration: plain)
        let (answers, events) = (layer.reactor(TokenAnswer.self), EventRecorder(layer))
        let token = BearerToken(
          BearerToken.Credential("1", goodUntil: clock.date), origins: [server.url], now: clock.wallClock
        ) { [tokens] _ in
          do {
            return BearerToken.Credential(try await answers.send(Resource("token", method: .post)).access)
          } catch {
            tokens.texts.change { $0 = events.events.map(\.description) + ["\(error)"] }
            throw error
          }
        }
        try await body(accounts, server, token)
      }
    }
  }
}
