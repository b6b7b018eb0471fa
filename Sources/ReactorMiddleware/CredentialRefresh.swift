import Foundation
import ReactorCore

/// The credential of an ``AuthenticationMiddleware``, and the requests that wait for the next one:
/// a state machine that returns actions.
///
/// The machine does not see requests or tasks. Refreshes are numbered, and a credential's version
/// is the number of the refresh that produced it. This distinguishes a late 401 for an old
/// credential from one for the current credential. The shell performs the returned actions after it
/// unlocks.
struct CredentialRefresh<Credential: Sendable>: Sendable {
  typealias WaiterID = UInt64

  struct Held: Sendable {
    let credential: Credential
    /// The number of the refresh or sign-in that produced the credential; 0 for the first.
    let version: UInt64
  }

  /// The state that decides about a request that is about to be signed.
  struct Look: Sendable {
    /// The credential to sign with, unless a refresh is awaited; `nil` after a sign-out.
    let held: Held?
    /// A Boolean value that indicates whether a refresh is under way.
    let isRefreshing: Bool
    /// A Boolean value that indicates whether the server has refused the credential.
    let isRefused: Bool
    let version: UInt64
    /// The number of the latest refresh that has failed, or 0.
    let failed: UInt64
  }

  indirect enum Action: Sendable {
    /// Begin a refresh, and report its result to ``ended(_:of:)`` with this number.
    case refresh(Credential, number: UInt64)
    /// Cancel the refresh under way, whose result would be dropped.
    case cancelRefresh
    /// Save the credential; `nil` after a sign-out.
    case save(Credential?)
    /// Say that requests can be signed again, after a sign-in or a refresh that follows a refused
    /// one.
    case announce
    case resume([WaiterID], Result<Held, any Error>)
  }

  private struct Refresh {
    let number: UInt64
    /// The waiters in order of arrival; empty if requests go on with the old credential, and once
    /// all have left.
    var waiters: [WaiterID] = []
  }

  /// The current credential; `nil` after a sign-out.
  private var held: Held?
  /// The number of the latest refresh, sign-in or sign-out that has taken effect, or 0.
  private var version: UInt64 = 0
  /// The number of the latest sign-out. Credentials of smaller versions are signed out.
  private var signedOut: UInt64 = 0
  private var refresh: Refresh?
  private var failure: (number: UInt64, error: any Error)?
  /// A Boolean value that indicates whether a refresh was refused, and none has succeeded since.
  private var isRefused = false
  private var lastNumber: UInt64 = 0
  /// The latest version that the server has refused; `nil` if none was refused.
  private var refused: UInt64?

  init(_ credential: Credential) { held = Held(credential: credential, version: 0) }

  /// The state for a request that begins now.
  var look: Look {
    Look(
      held: held, isRefreshing: refresh != nil, isRefused: held.map { $0.version == refused } ?? false,
      version: version, failed: failure?.number ?? 0)
  }

  /// Returns `true` if there was no sign-out after `held`.
  func permits(_ held: Held) -> Bool { held.version >= signedOut }

  /// Adds a waiter for another credential.
  ///
  /// - Parameters:
  ///   - refused: the version to replace: the server has refused it, for this request or another,
  ///     or it is about to expire.
  ///   - failed: the number in the ``Look`` of this waiter. It shares the failure of any later
  ///     refresh.
  ///   - isEarly: `true` if the server has not refused the version for this request.
  mutating func wait(_ id: WaiterID, refused: UInt64, failed: UInt64, isEarly: Bool = false) -> [Action] {
    if !isEarly { self.refused = max(self.refused ?? refused, refused) }
    if refresh != nil {
      refresh?.waiters.append(id)
      return []
    }
    guard let held else { return [.resume([id], .failure(ReactorError.authentication(ReactorError.SignedOut())))] }
    guard refused == held.version else { return [.resume([id], .success(held))] }
    if let failure, failure.number > failed { return [.resume([id], .failure(failure.error))] }
    return begin(held, waiters: [id])
  }

  /// Begins the refresh of a version that is about to expire, for which no request waits. Does
  /// nothing if there is a refresh or another version by now.
  mutating func refreshEarly(_ version: UInt64, failed: UInt64) -> [Action] {
    guard refresh == nil, let held, held.version == version, failure?.number ?? 0 == failed else { return [] }
    return begin(held, waiters: [])
  }

  private mutating func begin(_ held: Held, waiters: [WaiterID]) -> [Action] {
    lastNumber += 1
    refresh = Refresh(number: lastNumber, waiters: waiters)
    return [.refresh(held.credential, number: lastNumber)]
  }

  /// Removes a cancelled waiter. The refresh goes on without it: the server may have replaced the
  /// refresh token already, and the next one is only in its response.
  mutating func leave(_ id: WaiterID) -> [Action] {
    guard let index = refresh?.waiters.firstIndex(of: id) else { return [] }
    refresh?.waiters.remove(at: index)
    return [.resume([id], .failure(CancellationError()))]
  }

  /// Processes the result of a refresh. After a sign-in or a sign-out, it is dropped.
  mutating func ended(_ result: Result<Credential, any Error>, of number: UInt64) -> [Action] {
    guard refresh?.number == number else { return [] }
    switch result {
    case .success(let credential): return conclude(credential, number: number, isNews: isRefused)
    case .failure(let error):
      failure = (number, error)
      if case ReactorError.authentication = error { isRefused = true }
      return resume(.failure(error))
    }
  }

  /// Signs in. The waiters of a refresh continue with this credential.
  mutating func signIn(_ credential: Credential) -> [Action] {
    lastNumber += 1
    let cancelled: [Action] = refresh == nil ? [] : [.cancelRefresh]
    return cancelled + conclude(credential, number: lastNumber, isNews: true)
  }

  /// Signs out. Nothing is signed from now on, and the result of a refresh under way is dropped.
  mutating func signOut() -> [Action] {
    lastNumber += 1
    (version, signedOut) = (lastNumber, lastNumber)
    (held, failure) = (nil, nil)
    let cancelled: [Action] = refresh == nil ? [] : [.cancelRefresh]
    return cancelled + [.save(nil)] + resume(.failure(ReactorError.cancelled))
  }

  /// - Parameter isNews: `true` if requests could not be signed before.
  private mutating func conclude(_ credential: Credential, number: UInt64, isNews: Bool) -> [Action] {
    let held = Held(credential: credential, version: number)
    (self.held, version, failure, isRefused) = (held, number, nil, false)
    // Saved first: the server may take an old refresh token only once.
    return [.save(credential)] + resume(.success(held)) + (isNews ? [.announce] : [])
  }

  /// Resumes the waiters of the refresh under way, if there is one, and forgets it.
  private mutating func resume(_ result: Result<Held, any Error>) -> [Action] {
    guard let waiters = refresh.take()?.waiters, !waiters.isEmpty else { return [] }
    return [.resume(waiters, result)]
  }
}

/// The times at which a credential ends.
struct CredentialTerm: Sendable, Hashable {
  /// A Boolean value that indicates whether a refresh after a 401 may bring another credential.
  var isRefreshable = true
  /// The time from which the credential is refreshed before it is used; `nil` for never.
  var due: Date?
  /// The time from which the credential is useless; `nil` if it is not known.
  var end: Date?

  /// The use of a credential for a request that is about to be signed.
  enum Use: Sendable, Hashable {
    /// Sign with it.
    case sign
    /// Sign with it, and begin its refresh, for which the request does not wait.
    case signAndRefresh
    /// Wait for the refresh under way, or begin one.
    case awaitRefresh
  }

  /// Returns the use of a credential.
  ///
  /// - Parameters:
  ///   - isRefreshing: `true` if its refresh is under way.
  ///   - isRefused: `true` if the server has refused it.
  ///   - hasFailed: `true` if its refresh has failed. The next one is due at the end.
  func use(at now: Date, isRefreshing: Bool, isRefused: Bool, hasFailed: Bool) -> Use {
    let isGood = !isRefused && (end.map { now < $0 } ?? false)
    if isRefreshing { return isGood ? .sign : .awaitRefresh }
    guard isRefreshable, let due = hasFailed ? end : due, now >= due else { return .sign }
    return isGood ? .signAndRefresh : .awaitRefresh
  }
}
