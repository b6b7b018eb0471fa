public import Foundation
import HTTPCaching
public import HTTPTypes
public import ReactorCore
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Signs every request to the given origins, and sends it once more with a new credential if the
/// server answers 401. For a bearer token, ``BearerToken`` does the same without an authenticator.
///
/// ```swift
/// let backend = Backend(
///   baseURL: api,
///   authentication: AuthenticationMiddleware(
///     BearerAuthenticator(), credential: token, origins: [api]))
/// ```
///
/// - After a 401 there is one refresh, however many requests wait for it. Each of them is then sent
///   once more. Requests that begin during the refresh wait too, and are sent once.
/// - If the refresh fails, all of these requests fail with `ReactorError.authentication(_:)`, even
///   those whose 401 arrives later. A failure of the network or the server (5xx, 408, 425, 429) is
///   not a refusal, and is thrown as it is: the request is retried, or a stale fallback is served.
///   So is any error of a transport or middleware that arrives as `ReactorError.network(_:)`. The
///   401 of a request that began after the failure begins another refresh.
/// - A late 401 for an old credential begins no refresh: the request is sent again with the newer
///   one.
/// - A second 401 is the response. So is the 401 of another origin after a redirect: the credential
///   was not sent there.
/// - A request that is cancelled while it waits throws at once. The refresh goes on, even without
///   waiters: the server may have replaced the refresh token already. Only ``signIn(_:)`` and
///   ``signOut()`` cancel it.
/// - Header fields that the signature adds or changes are marked as never indexed (RFC 7541
///   §7.1.3). The transports of this package leave them out of a redirect to another origin.
/// - After ``signOut()``, requests are neither signed nor sent. They fail with
///   `ReactorError.authentication(_:)` of `ReactorError.SignedOut` until ``signIn(_:)``.
///
/// An instance serves one user. Create another for another user.
public final class AuthenticationMiddleware<A: Authenticator>: TransportMiddleware {
  private typealias Machine = CredentialRefresh<A.Credential>
  private typealias Held = Machine.Held

  private struct State {
    var machine: Machine
    var waiters: [Machine.WaiterID: CheckedContinuation<Held, any Error>] = [:]
    var lastID: Machine.WaiterID = 0
    var task: TaskHandle?
    /// The owner of the latest refresh, which works for the requests that wait for it.
    var owner = LockOwner()
    /// The closures to call when requests can be signed again.
    var observers: [SignInObserver] = []
    /// The latest credential to save, `nil` in it for none; `nil` if that is done.
    var unsaved: A.Credential??
    /// A Boolean value that indicates whether a thread saves. It goes on until nothing is left.
    var isSaving = false
  }

  private let authenticator: A
  private let origins: Set<WebOrigin>
  private let taskExecutor: (any TaskExecutor)?
  private let now: @Sendable () -> Date
  private let term: @Sendable (A.Credential) -> CredentialTerm
  /// The mutable state and its lock.
  private let state: Mutex<State>

  /// Creates a middleware that signs requests to `origins`.
  ///
  /// - Parameters:
  ///   - authenticator: signs the requests and refreshes the credential.
  ///   - credential: the credential to sign with until the server refuses it.
  ///   - origins: URLs whose scheme, host and port select the requests to sign. Their paths are
  ///     ignored, and so are URLs without an `http` or `https` origin.
  ///   - taskExecutor: the executor of the refresh. Default: `nil`, the global executor.
  public convenience init(
    _ authenticator: A, credential: A.Credential, origins: [URL], taskExecutor: (any TaskExecutor)? = nil
  ) {
    self.init(
      authenticator, credential: credential, origins: origins, taskExecutor: taskExecutor, now: { Date() },
      term: { _ in CredentialTerm() })
  }

  /// Creates a middleware whose credentials have a term.
  ///
  /// - Parameters:
  ///   - now: the wall clock.
  ///   - term: the times at which a credential ends.
  init(
    _ authenticator: A, credential: A.Credential, origins: [URL], taskExecutor: (any TaskExecutor)? = nil,
    now: @escaping @Sendable () -> Date, term: @escaping @Sendable (A.Credential) -> CredentialTerm
  ) {
    self.authenticator = authenticator
    self.origins = Set(origins.compactMap(WebOrigin.init))
    self.taskExecutor = taskExecutor
    self.now = now
    self.term = term
    state = Mutex(State(machine: Machine(credential)))
  }

  /// Signs a request to one of the origins, and handles a 401. Other requests pass unchanged, as do
  /// requests that the refresh of this middleware sends.
  public func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
    guard let origin = request.url.flatMap(WebOrigin.init), origins.contains(origin),
      !Refreshing.isUnderWay(of: ObjectIdentifier(self))
    else { return try await next(request, body) }
    let look = state.withLock { $0.machine.look }
    let (held, isRenewed) = try await credential(before: look)
    if isRenewed { return try await next(signed(request, body, with: held), body) }
    let trail = RedirectTrail()
    let answer = try await RedirectTrail.$observed.withValue(trail) {
      try await next(signed(request, body, with: held), body)
    }
    guard answer.0.status == .unauthorized, !trail.hasChangedOrigin else { return answer }
    // The request was carried out, and only its result is refused: a second one would do it again.
    guard !trail.hops.contains(where: \.leadsToResult), mayReplace(held) else { return answer }
    return try await next(signed(request, body, with: renewedCredential(look, isEarly: false)), body)
  }

  /// Signs with `credential` from now on. Requests that wait for a refresh continue with it, and
  /// that refresh is cancelled.
  ///
  /// ```swift
  /// authentication.signIn(token)
  /// ```
  public func signIn(_ credential: A.Credential) { transact { $0.machine.signIn(credential) } }

  /// Forgets the credential. A refresh under way is cancelled and its result dropped. The requests
  /// that wait for it fail with `ReactorError.cancelled`. `ModelLayer.signOut()` calls this
  /// method.
  public func signOut() { transact { $0.machine.signOut() } }

  /// Returns `request` with the authenticator's path and header fields. Fields that are new or
  /// changed are marked as never indexed.
  private func signed(_ request: HTTPRequest, _ body: Data?, with held: Held) async throws -> HTTPRequest {
    var copy = request
    try await authenticator.sign(&copy, body: body, with: held.credential)
    guard state.withLock({ $0.machine.permits(held) }) else { throw ReactorError.cancelled }
    var signed = request
    signed.path = copy.path
    signed.headerFields = HTTPFields(
      copy.headerFields.map { field in
        guard request.headerFields[values: field.name] != copy.headerFields[values: field.name] else { return field }
        var field = field
        field.indexingStrategy = .disallow
        return field
      })
    return signed
  }
}

private struct SignInObserver: Sendable {
  weak var observer: (any AnyObject & Sendable)?
  let call: @Sendable () -> Void
}

extension AuthenticationMiddleware: SignInObservable {
  package func observeSignIn<Observer: AnyObject & Sendable>(
    _ observer: Observer, _ body: @escaping @Sendable (Observer) -> Void
  ) {
    let new = SignInObserver(observer: observer) { [weak observer] in
      if let observer { body(observer) }
    }
    state.withLock { state in
      state.observers.removeAll { $0.observer == nil }
      state.observers.append(new)
    }
  }

  /// The number of observers, of which some may be gone.
  var observerCount: Int { state.withLock(\.observers.count) }
}

extension AuthenticationMiddleware {
  /// Returns the credential to sign with, and whether it has just been renewed.
  ///
  /// A request waits for a refresh only if there is no good credential without it.
  private func credential(before look: Machine.Look) async throws -> (Held, isRenewed: Bool) {
    if let held = look.held {
      let use = term(held.credential).use(
        at: now(), isRefreshing: look.isRefreshing, isRefused: look.isRefused, hasFailed: look.failed > 0)
      if use == .signAndRefresh { transact { $0.machine.refreshEarly(look.version, failed: look.failed) } }
      if use != .awaitRefresh { return (held, false) }
    }
    return (try await renewedCredential(look, isEarly: true), true)
  }

  /// Waits for the refresh under way, or begins one.
  ///
  /// - Parameter isEarly: `false` after the server has refused the credential.
  private func renewedCredential(_ look: Machine.Look, isEarly: Bool) async throws -> Held {
    do {
      let held = try await awaitedCredential(look, isEarly: isEarly)
      RedirectTrail.sender?.noteRenewed()
      return held
    } catch {
      RedirectTrail.sender?.noteUnsigned()
      throw error
    }
  }

  /// Returns `true` if there is another credential than `held`, or a refresh may bring one.
  private func mayReplace(_ held: Held) -> Bool {
    term(held.credential).isRefreshable || state.withLock { $0.machine.look.version != held.version }
  }

  private func awaitedCredential(_ look: Machine.Look, isEarly: Bool) async throws -> Held {
    try Task.checkCancellation()
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    let wait = LockOwner.wait()
    defer { wait?.end() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        transact { state in
          state.waiters[id] = continuation
          return state.machine.wait(id, refused: look.version, failed: look.failed, isEarly: isEarly)
        }
        if let wait { KeyedAsyncLock.add(wait, to: state.withLock(\.owner)) }
        // The cancellation handler may have run before the waiter was added.
        if Task.isCancelled { leave(id) }
      }
    } onCancel: {
      leave(id)
    }
  }

  private func leave(_ id: Machine.WaiterID) { transact { $0.machine.leave(id) } }

  /// Changes the state, and performs the resulting actions without the lock.
  private func transact(_ change: (inout State) -> [Machine.Action]) {
    let effects = state.withLock { state in change(&state).map { Self.effect($0, &state) } }
    for effect in effects { perform(effect) }
  }

  /// An action, with the values that it removes from the state.
  private indirect enum Effect {
    case refresh(A.Credential, number: UInt64, TaskHandle, LockOwner)
    case cancel(TaskHandle?)
    case save
    case announce([SignInObserver])
    case resume([CheckedContinuation<Held, any Error>], Result<Held, any Error>)
  }

  private static func effect(_ action: Machine.Action, _ state: inout State) -> Effect {
    switch action {
    case .refresh(let credential, let number):
      let task = TaskHandle(priority: Task.currentPriority)
      state.task = task
      state.owner = LockOwner()
      return .refresh(credential, number: number, task, state.owner)
    case .cancelRefresh: return .cancel(state.task.take())
    case .save(let credential):
      state.unsaved = .some(credential)
      return .save
    case .announce: return .announce(state.observers)
    case .resume(let ids, let result): return .resume(ids.compactMap { state.waiters.removeValue(forKey: $0) }, result)
    }
  }

  private func perform(_ effect: Effect) {
    switch effect {
    case .refresh(let credential, let number, let task, let owner): begin(credential, number, task, owner)
    case .cancel(let task): task?.cancel()
    case .save: save()
    case .announce(let observers): for observer in observers { observer.call() }
    case .resume(let continuations, let result): for continuation in continuations { continuation.resume(with: result) }
    }
  }

  /// Saves the latest credential. One thread at a time does so, in order, without the lock.
  private func save() {
    guard
      state.withLock({ state in
        defer { state.isSaving = true }
        return !state.isSaving
      })
    else { return }
    while let credential = state.withLock({ state -> A.Credential?? in
      let unsaved = state.unsaved.take()
      state.isSaving = unsaved != nil
      return unsaved
    }) { authenticator.save(credential) }
  }

  private func begin(_ credential: A.Credential, _ number: UInt64, _ task: TaskHandle, _ owner: LockOwner) {
    task.attach(
      spawn(on: taskExecutor, priority: task.priority, for: owner) {
        let result = await Refreshing.run(of: ObjectIdentifier(self)) { await self.refreshed(credential) }
        self.transact { $0.machine.ended(result, of: number) }
      })
  }

  private func refreshed(_ credential: A.Credential) async -> Result<A.Credential, any Error> {
    do { return .success(try await authenticator.refresh(credential)) } catch { return .failure(Self.failure(error)) }
  }

  /// Returns the error for the requests that wait. A failure of the network or the server stays as
  /// it is, since the credential was not refused. After any other error, the user has to sign in.
  private static func failure(_ error: any Error) -> any Error {
    switch error {
    case ReactorError.authentication: error
    // It comes from the refresh's own requests: the waiter here was not cancelled.
    case ReactorError.cancelled, is CancellationError: ReactorError.cancelled
    case _ where isOfNetwork(error): error
    default: ReactorError.authentication(Refreshing.withoutBody(error))
    }
  }

  /// Returns `true` for a failure on the way to the server, or in it. A URL that no request can be
  /// made for is a mistake in the program, and would be one at each retry.
  private static func isOfNetwork(_ error: any Error) -> Bool {
    switch error {
    case let error as URLError: ![.badURL, .unsupportedURL, .userAuthenticationRequired].contains(error.code)
    case is TransportError, is POSIXError: true
    case ReactorError.network(let cause) where cause is URLError || cause is ReactorError: isOfNetwork(cause)
    case ReactorError.server(let response, _) where response.status.kind == .serverError: true
    case let error as ReactorError: error.isNetworkFailure || RetryPolicy.mayPass(.failure(error))
    default: false
    }
  }
}

/// A type that signs the requests of one user and refreshes the credential after the server has
/// refused it.
///
/// ```swift
/// struct BearerAuthenticator: Authenticator {
///   func sign(_ request: inout HTTPRequest, body: Data?, with token: Token) {
///     request.headerFields[.authorization] = "Bearer \(token.access)"
///   }
///   func refresh(_ token: Token) async throws -> Token { try await tokens.renewed(token.refresh) }
/// }
/// ```
///
/// An ``AuthenticationMiddleware`` calls its methods concurrently and from any isolation.
public protocol Authenticator: Sendable {
  /// The value that requests are signed with, such as an access token and its refresh token.
  associatedtype Credential: Sendable

  /// Signs `request`. Called once for each attempt. Only changes of the path and of the header
  /// fields are used. If it throws, the attempt fails with that error.
  func sign(_ request: inout HTTPRequest, body: Data?, with credential: Credential) async throws

  /// Returns a new credential after the server has refused one with 401. Called once, however many
  /// requests wait for it.
  ///
  /// If it throws, each of these requests fails: with a failure of the network or of the server
  /// (5xx, 408, 425, 429) as it is, with any other error in `ReactorError.authentication(_:)`.
  /// The call goes on when no request waits for it any more, and when the layer is released. It is
  /// cancelled at a sign-in and a sign-out. Later requests wait for it, so let it end: the requests
  /// of a transport have a time limit. Its own requests through the calling middleware are sent
  /// unsigned. Save the credential in ``save(_:)``, not here: a sign-out drops the result of a
  /// refresh, and cannot undo what it has written.
  ///
  /// It may fetch through the layer that it signs for. Such a fetch is answered from the cache or
  /// by a separate request, whose response is not stored. It joins no flight, since the flight may
  /// wait for the refresh. `states(for:)` fails there with `ReactorError.invalidResource(_:)`,
  /// except under `FetchPolicy.cacheOnly`.
  func refresh(_ credential: Credential) async throws -> Credential

  /// Saves the credential for the next start of the program; `nil` after a sign-out, to delete it.
  ///
  /// Called after each refresh whose result is used, each sign-in and each sign-out: one call at a
  /// time, so that the last one has the latest credential. A call that begins during another is
  /// made by that thread, and may come after the sign-out has returned. It may block for as long as
  /// a write takes; the requests that wait for a refresh go on after it. Default: nothing.
  func save(_ credential: Credential?)
}

extension Authenticator {
  /// Saves nothing.
  public func save(_ credential: Credential?) {}
}
