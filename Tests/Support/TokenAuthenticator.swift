public import Foundation
public import HTTPTypes
import ReactorCore
public import ReactorMiddleware
public import ReactorTesting

/// Signs with bearer tokens "1", "2" and so on: each refresh gives the next, unless it is told to
/// fail.
public final class TokenAuthenticator: Authenticator {
  /// Held at, where it is closed, by each refresh. Heeds cancellation.
  public let gate = Gate(isOpen: true)
  /// Reached by each refresh when it ends.
  public let ended = Gate(isOpen: true)
  private let state = Shared((next: 2, refused: [String](), failure: (any Error)?.none))
  private let ignoresCancellation: Bool

  /// - Parameter ignoresCancellation: whether a refresh that is cancelled continues, and brings its
  ///   token.
  public init(ignoresCancellation: Bool = false) { self.ignoresCancellation = ignoresCancellation }

  /// The tokens that were to be replaced, in order.
  public var refused: [String] { state.value.refused }
  /// Makes each refresh throw this error from now on; `nil` for none.
  public func fail(with error: (any Error)?) { state.change { $0.failure = error } }

  public func sign(_ request: inout HTTPRequest, body: Data?, with token: String) {
    request.headerFields[.authorization] = "Bearer \(token)"
  }

  public func refresh(_ token: String) async throws -> String {
    state.change { $0.refused.append(token) }
    let passed = await pass()
    await ended.waitIgnoringCancellation()
    try passed.get()
    return try state.change { state in
      Result<String, any Error> {
        if let failure = state.failure { throw failure }
        defer { state.next += 1 }
        return "\(state.next)"
      }
    }.get()
  }

  private func pass() async -> Result<Void, any Error> {
    if ignoresCancellation { return .success(await gate.waitIgnoringCancellation()) }
    do { return .success(try await gate.wait()) } catch { return .failure(error) }
  }
}

extension ScriptedTransport {
  /// The tokens that requests came with, in order; `-` without a token.
  public var tokens: [String] {
    requests.map { received in
      received.request.headerFields[.authorization].map { String($0.dropFirst("Bearer ".count)) } ?? "-"
    }
  }
}
