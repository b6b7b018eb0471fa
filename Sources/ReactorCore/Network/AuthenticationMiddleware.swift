public import Foundation
public import HTTPTypes
import Synchronization

/// Signs every request to the origins it is given, and once more with a new credential where the server answers 401.
///
/// ```swift
/// let backend = Backend(
///   baseURL: api, authentication: AuthenticationMiddleware(BearerAuthenticator(), credential: token, origins: [api]))
/// ```
///
/// - After a 401 there is one refresh, however many requests wait for it; each of them is then sent once more. Requests that
///   begin meanwhile wait too, and are sent once.
/// - A refresh that fails fails them all, those included whose 401 comes later, with ``ReactorError/authentication(_:)``. A
///   failure of the network passes as it is, so that it is retried and a stale copy may stand in. The 401 of a request that
///   began afterwards begins another refresh.
/// - A late 401 for an old credential leads to no refresh: the request is sent again with the newer one.
/// - A second 401 is the answer. So is the 401 of another origin that the request was redirected to: it never saw the
///   credential.
/// - A request that is cancelled while it waits ends at once; the refresh goes on for the others, and is cancelled with the last.
/// - The fields that the signature added or changed are marked as never to be indexed (RFC 7541 §7.1.3); the transports of this package
///   leave them out of a request that is redirected to another origin.
///
/// - After ``signOut()`` nothing is signed and nothing is sent: requests fail with ``SignedOut`` until ``signIn(_:)``.
///
/// It is one user's: make another for another user.
public final class AuthenticationMiddleware<A: Authenticator>: TransportMiddleware {
  private typealias Machine = CredentialRefresh<A.Credential>
  private typealias Held = Machine.Held

  private struct State {
    var machine: Machine
    var waiters: [Machine.WaiterID: CheckedContinuation<Held, any Error>] = [:]
    var lastID: Machine.WaiterID = 0
    var task: TaskHandle?
    /// What the latest refresh works for: those who wait for it.
    var owner = LockOwner()
  }

  private let authenticator: A
  private let origins: Set<WebOrigin>
  private let taskExecutor: (any TaskExecutor)?
  /// Guards everything that changes.
  private let state: Mutex<State>

  /// - Parameters:
  ///   - credential: what is signed with until the server refuses it.
  ///   - origins: URLs whose scheme, host and port requests are signed for; their paths do not count. A URL that has no
  ///     `http` or `https` origin is none.
  ///   - taskExecutor: where the refresh runs. Default: `nil`, the global executor.
  public init(
    _ authenticator: A, credential: A.Credential, origins: [URL], taskExecutor: (any TaskExecutor)? = nil
  ) {
    self.authenticator = authenticator
    self.origins = Set(origins.compactMap(WebOrigin.init))
    self.taskExecutor = taskExecutor
    state = Mutex(State(machine: Machine(credential)))
  }

  public func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
    guard let origin = request.url.flatMap(WebOrigin.init), origins.contains(origin),
      !Refreshing.isUnderWay(of: ObjectIdentifier(self))
    else { return try await next(request, body) }
    let look = state.withLock { $0.machine.look }
    guard let held = look.usable else {
      return try await next(signed(request, body, with: credential(look)), body)
    }
    let trail = RedirectTrail()
    let answer = try await RedirectTrail.$observed.withValue(trail) {
      try await next(signed(request, body, with: held), body)
    }
    guard answer.0.status == .unauthorized, !trail.hasChangedOrigin else { return answer }
    return try await next(signed(request, body, with: credential(look)), body)
  }

  /// The user is signed in with this credential from now on. Requests that wait for a refresh go on with it.
  public func signIn(_ credential: A.Credential) { transact { $0.machine.signIn(credential) } }

  /// Forgets the credential. A refresh under way is cancelled, what it brings is dropped, and the requests that wait for
  /// it fail with ``ReactorError/cancelled``. ``ModelLayer/signOut()`` calls it.
  public func signOut() { transact { $0.machine.signOut() } }

  /// `request` with the authenticator's path and fields; those that are new or changed are marked.
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

extension AuthenticationMiddleware {
  /// Waits for the refresh under way, or for one that it begins where the server has refused the credential held.
  private func credential(_ look: Machine.Look) async throws -> Held {
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
          return state.machine.wait(id, refused: look.version, failed: look.failed)
        }
        if let wait { KeyedAsyncLock.add(wait, to: state.withLock(\.owner)) }
        // The handler below may have run before there was anybody to take out.
        if Task.isCancelled { leave(id) }
      }
    } onCancel: {
      leave(id)
    }
  }

  private func leave(_ id: Machine.WaiterID) { transact { $0.machine.leave(id) } }

  /// Changes the state, and performs what follows from it.
  private func transact(_ change: (inout State) -> [Machine.Action]) {
    let effects = state.withLock { state in change(&state).map { Self.effect($0, &state) } }
    for effect in effects { perform(effect) }
  }

  /// An action with what it takes out of the state.
  private enum Effect {
    case refresh(A.Credential, number: UInt64, TaskHandle, LockOwner)
    case cancel(TaskHandle?)
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
    case .resume(let ids, let result): return .resume(ids.compactMap { state.waiters.removeValue(forKey: $0) }, result)
    }
  }

  private func perform(_ effect: Effect) {
    switch effect {
    case .refresh(let credential, let number, let task, let owner): begin(credential, number, task, owner)
    case .cancel(let task): task?.cancel()
    case .resume(let continuations, let result): for continuation in continuations { continuation.resume(with: result) }
    }
  }

  private func begin(_ credential: A.Credential, _ number: UInt64, _ task: TaskHandle, _ owner: LockOwner) {
    task.attach(
      spawn(on: taskExecutor, priority: task.priority, for: owner) {
        let result = await Refreshing.run(of: ObjectIdentifier(self)) { await self.refreshed(credential) }
        self.transact { $0.machine.ended(result, of: number) }
      })
  }

  private func refreshed(_ credential: A.Credential) async -> Result<A.Credential, any Error> {
    do { return .success(try await authenticator.refresh(credential)) } catch { return .failure(Self.refusal(error)) }
  }

  /// A failure of the network may pass, and stays itself; after any other the user has to sign in.
  private static func refusal(_ error: any Error) -> any Error {
    if case .authentication? = error as? ReactorError { return error }
    if (error as? ReactorError)?.isNetworkFailure == true || RetryPolicy.mayPass(.failure(error)) { return error }
    return ReactorError.authentication(error)
  }
}

/// Signs the requests of one user, and gets a new credential when the old one is refused.
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
/// An ``AuthenticationMiddleware`` calls it, concurrently and from any isolation.
public protocol Authenticator: Sendable {
  /// What a request is signed with, such as an access token with the refresh token that belongs to it.
  associatedtype Credential: Sendable

  /// Adds what proves who sends `request`, once for each attempt. Only the path and the header fields that it leaves are used.
  func sign(_ request: inout HTTPRequest, body: Data?, with credential: Credential) async throws

  /// A new credential for one that the server refused with 401. Called once, however many requests wait for it.
  ///
  /// What it throws is the error of each of them: a failure of the network as it is, all else in
  /// ``ReactorError/authentication(_:)``. It is cancelled when none of them waits any more, and at sign-out. To keep the
  /// credential for the next start of the program is its own affair. What it sends through the middleware that calls it is
  /// passed on without being signed.
  ///
  /// It may fetch through the layer that it signs for. Such a fetch is answered from the cache or is a request of its own: it
  /// joins no other, since that may wait for the refresh, and its answer is not stored. `states(for:)` fails there with
  /// ``ReactorError/invalidResource(_:)``, but under ``FetchPolicy/cacheOnly``.
  func refresh(_ credential: Credential) async throws -> Credential
}

/// The user has signed out, so nothing is sent in their name: see ``ModelLayer/signOut()``.
public struct SignedOut: Error, Hashable, CustomStringConvertible {
  public init() {}

  public var description: String { "signed out; give the authentication a credential with signIn(_:)" }
}
