public import Foundation
import HTTPCaching
public import HTTPTypes
public import ReactorCore

/// Signs every request to the given origins with a bearer token (RFC 6750).
///
/// A token that never changes is one line:
///
/// ```swift
/// let backend = Backend(baseURL: api, authentication: BearerToken("ghp_…", origins: [api]))
/// ```
///
/// There is no refresh for it: a 401 is the response, `ReactorError.server(_:body:)`, whose text
/// names the request and shows the server's words.
///
/// A token that expires has a closure that returns the next one:
///
/// ```swift
/// let token = BearerToken(saved, origins: [api], save: { keychain.credential = $0 }) { expired in
///   let answer = try await tokens.send(
///     Resource("oauth/token", method: .post, json: ["refresh_token": expired.refreshToken]))
///   return BearerToken.Credential(
///     answer.access, refreshToken: answer.refresh, goodUntil: Date() + answer.lifetime)
/// }
/// ```
///
/// - A token with ``Credential/goodUntil`` is refreshed before it expires, once for all requests.
///   They go on with the old token while it is good. After its end, they wait for the refresh.
/// - After a 401, the token is refreshed too, and the request is sent once more. All rules of
///   ``AuthenticationMiddleware`` hold.
/// - If a refresh before the end fails, the old token is used for as long as it is good. The next
///   refresh is due when it has expired, or at a 401.
/// - A refresh that has begun runs to its end, even if the requests that wait for it are cancelled.
///   Only a sign-in and a sign-out cancel it.
/// - A refresh that the network or the server fails (no connection, a timeout, 5xx, 408, 425, 429)
///   does not sign the user out. The requests fail with that error, and are retried like any other.
///   Their server has no outage by it. Any other error of the closure is a refusal:
///   `ReactorError.authentication(_:)`.
/// - `ReactorError.network(_:)` is a failure of the network whatever error is in it: the request
///   of the refresh had no answer, since its transport or a middleware threw an error. So throw
///   another library's refusal as it is, or in `ReactorError.authentication(_:)`.
/// - An outbox that waits for a sign-in continues after one, and after a refresh that succeeds.
///
/// An instance serves one user. Create another for another user.
public final class BearerToken: TransportMiddleware {
  /// A token, with the means to get the next one. Its `description` and `dump` do not show them.
  public struct Credential: Sendable, Hashable, Codable {
    /// The access token. White space around it is removed, as at the end of a file.
    public let token: String
    /// The refresh token, for the closure of ``BearerToken``; `nil` without one.
    public let refreshToken: String?
    /// The time at which the token expires; `nil` if it is not known.
    public let goodUntil: Date?

    /// Creates a credential. By default, it is good until the server refuses it.
    ///
    /// - Parameter goodUntil: The date of the response plus its `expires_in` (RFC 6749 §5.1).
    public init(_ token: String, refreshToken: String? = nil, goodUntil: Date? = nil) {
      self.token = token.trimmingCharacters(in: .whitespacesAndNewlines)
      self.refreshToken = refreshToken
      self.goodUntil = goodUntil
    }
  }

  private let middleware: AuthenticationMiddleware<Signer>
  private let margin: Duration
  private let now: @Sendable () -> Date

  /// Creates a middleware for a token that is not refreshed.
  ///
  /// - Parameters:
  ///   - token: The token. White space around it is removed.
  ///   - origins: URLs whose scheme, host and port select the requests to sign, such as the base
  ///     URL.
  public convenience init(_ token: String, origins: [URL]) {
    self.init(Credential(token), origins: origins, margin: .zero, now: { Date() }, refreshing: nil)
  }

  /// Creates a middleware for a token that is refreshed.
  ///
  /// - Parameters:
  ///   - credential: The first credential. It may have expired.
  ///   - origins: URLs whose scheme, host and port select the requests to sign.
  ///   - margin: The time before ``Credential/goodUntil`` at which the token is refreshed, at most
  ///     half of the time that was left when it came. Default: one minute.
  ///   - now: The wall clock. Default: the system's.
  ///   - save: Saves the credential for the next start of the program, and deletes it for `nil`: as
  ///     ``Authenticator/save(_:)`` after each refresh, sign-in and sign-out. After a sign-out, the
  ///     result of a refresh is not saved. Default: `nil`, which saves nothing.
  ///   - refresh: Returns the next credential. It is called as ``Authenticator/refresh(_:)`` is.
  public convenience init(
    _ credential: Credential, origins: [URL], margin: Duration = .seconds(60),
    now: @escaping @Sendable () -> Date = { Date() }, save: (@Sendable (Credential?) -> Void)? = nil,
    refresh: @escaping @Sendable (Credential) async throws -> Credential
  ) {
    self.init(credential, origins: origins, margin: margin, now: now, save: save, refreshing: refresh)
  }

  private init(
    _ credential: Credential, origins: [URL], margin: Duration, now: @escaping @Sendable () -> Date,
    save: (@Sendable (Credential?) -> Void)? = nil,
    refreshing refresh: (@Sendable (Credential) async throws -> Credential)?
  ) {
    let signer = Signer(margin: margin, now: now, save: save, refresh: refresh)
    (self.margin, self.now) = (margin, now)
    middleware = AuthenticationMiddleware(
      signer, credential: Lease(credential, margin: margin, now: now()), origins: origins, now: now
    ) { lease in
      CredentialTerm(isRefreshable: refresh != nil, due: lease.due, end: lease.end)
    }
  }

  /// Signs a request to one of the origins, and handles a 401. Other requests pass unchanged, as do
  /// requests that the refresh sends.
  public func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
    try await middleware.intercept(request, body: body, next: next)
  }

  /// Signs with `credential` from now on. Requests that wait for a refresh continue with it, and
  /// that refresh is cancelled.
  public func signIn(_ credential: Credential) {
    middleware.signIn(Lease(credential, margin: margin, now: now()))
  }

  /// Signs with a token from now on; see ``signIn(_:)-(Credential)``.
  public func signIn(_ token: String) { signIn(Credential(token)) }

  /// Forgets the token. From then on, requests fail with `ReactorError.authentication(_:)` of
  /// `ReactorError.SignedOut` until the next sign-in. `ModelLayer.signOut()` calls this method.
  public func signOut() { middleware.signOut() }
}

extension BearerToken: SignInObservable {
  package func observeSignIn<Observer: AnyObject & Sendable>(
    _ observer: Observer, _ body: @escaping @Sendable (Observer) -> Void
  ) { middleware.observeSignIn(observer, body) }
}

extension BearerToken.Credential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The date at which the token expires, without the token.
  public var description: String { goodUntil.map { "a bearer token, good until \($0)" } ?? "a bearer token" }
  /// The same text as `description`.
  public var debugDescription: String { description }
  /// Only the description, so that `dump` shows no token.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension BearerToken {
  /// A credential, with the time at which its refresh is due.
  fileprivate struct Lease: Sendable {
    let credential: Credential
    let due: Date?
    /// The time from which it is not sent; `nil` if only the server tells.
    let end: Date?

    /// - Parameter isNew: `true` if the refresh has just returned it. If it seems to have expired,
    ///   the clock is wrong: it is used until a 401, and not refreshed before each request.
    init(_ credential: Credential, margin: Duration, now: Date, isNew: Bool = false) {
      self.credential = credential
      end = credential.goodUntil.flatMap { isNew && $0 <= now ? nil : $0 }
      due = end.map { end in
        // A token that lives for less than the margin would be refreshed before each request.
        end - min(max(margin.inSeconds, 0), max(end.timeIntervalSince(now), 0) / 2)
      }
    }
  }

  fileprivate struct Signer: Authenticator {
    let margin: Duration
    let now: @Sendable () -> Date
    let save: (@Sendable (BearerToken.Credential?) -> Void)?
    let refresh: (@Sendable (BearerToken.Credential) async throws -> BearerToken.Credential)?

    func sign(_ request: inout HTTPRequest, body: Data?, with lease: Lease) {
      request.headerFields[.authorization] = "Bearer \(lease.credential.token)"
    }

    func save(_ lease: Lease?) { save?(lease?.credential) }

    func refresh(_ lease: Lease) async throws -> Lease {
      // Without a closure, the middleware does not call this method.
      guard let refresh else { return lease }
      return try await Lease(refresh(lease.credential), margin: margin, now: now(), isNew: true)
    }
  }
}
