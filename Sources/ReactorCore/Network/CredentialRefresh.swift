import Foundation
import Synchronization

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
    /// The credential to sign with; `nil` during a refresh and after a sign-out.
    let usable: Held?
    let version: UInt64
    /// The number of the latest refresh that has failed, or 0.
    let failed: UInt64
  }

  indirect enum Action: Sendable {
    /// Begin a refresh, and report its result to ``ended(_:of:)`` with this number.
    case refresh(Credential, number: UInt64)
    /// Cancel the refresh in progress, which is no longer needed.
    case cancelRefresh
    case resume([WaiterID], Result<Held, any Error>)
  }

  private struct Refresh {
    let number: UInt64
    /// The waiters in order of arrival; never empty.
    var waiters: [WaiterID]
  }

  /// The current credential; `nil` after a sign-out.
  private var held: Held?
  /// The number of the latest refresh, sign-in or sign-out that has taken effect.
  private var version: UInt64 = 0
  /// The number of the latest sign-out. Credentials of smaller versions are signed out.
  private var signedOut: UInt64 = 0
  private var refresh: Refresh?
  private var failure: (number: UInt64, error: any Error)?
  private var lastNumber: UInt64 = 0
  /// The latest version that the server has refused; `nil` if none was refused.
  private var refused: UInt64?

  init(_ credential: Credential) { held = Held(credential: credential, version: 0) }

  /// The state for a request that begins now.
  var look: Look { Look(usable: refresh == nil ? held : nil, version: version, failed: failure?.number ?? 0) }

  /// The current credential, even during a refresh; `nil` after a sign-out, and if the server has
  /// refused it.
  var unrefused: Held? { held.flatMap { $0.version == refused ? nil : $0 } }

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
    lastNumber += 1
    refresh = Refresh(number: lastNumber, waiters: [id])
    return [.refresh(held.credential, number: lastNumber)]
  }

  /// Removes a cancelled waiter. Without waiters, the refresh is cancelled.
  mutating func leave(_ id: WaiterID) -> [Action] {
    guard let index = refresh?.waiters.firstIndex(of: id) else { return [] }
    refresh?.waiters.remove(at: index)
    let left: [Action] = [.resume([id], .failure(CancellationError()))]
    guard refresh?.waiters.isEmpty == true else { return left }
    refresh = nil
    return [.cancelRefresh] + left
  }

  /// Processes the result of a refresh. A refresh that was cancelled but succeeded still supplies
  /// its credential, since the server may have revoked the old one. A later refresh, sign-in or
  /// sign-out takes precedence.
  mutating func ended(_ result: Result<Credential, any Error>, of number: UInt64) -> [Action] {
    let isCurrent = refresh?.number == number
    switch result {
    case .success(let credential):
      guard number > version else { return [] }
      return conclude(credential, number: number, endsRefresh: !isCurrent)
    case .failure(let error):
      guard isCurrent, let waiters = refresh.take()?.waiters else { return [] }
      failure = (number, error)
      return [.resume(waiters, .failure(error))]
    }
  }

  /// Signs in. The waiters of a refresh continue with this credential.
  mutating func signIn(_ credential: Credential) -> [Action] {
    lastNumber += 1
    return conclude(credential, number: lastNumber, endsRefresh: true)
  }

  /// Signs out. Nothing is signed from now on, and the result of a refresh under way is dropped.
  mutating func signOut() -> [Action] {
    lastNumber += 1
    (version, signedOut) = (lastNumber, lastNumber)
    (held, failure) = (nil, nil)
    guard let waiters = refresh.take()?.waiters else { return [] }
    return [.cancelRefresh, .resume(waiters, .failure(ReactorError.cancelled))]
  }

  private mutating func conclude(_ credential: Credential, number: UInt64, endsRefresh: Bool) -> [Action] {
    let held = Held(credential: credential, version: number)
    (self.held, version, failure) = (held, number, nil)
    guard let waiters = refresh.take()?.waiters else { return [] }
    return (endsRefresh ? [.cancelRefresh] : []) + [.resume(waiters, .success(held))]
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

  /// Returns `true` if the credential is to be refreshed before it is used.
  ///
  /// - Parameter hasFailed: `true` if its refresh has failed. The next one is due when the
  ///   credential expires.
  func isDue(at now: Date, hasFailed: Bool) -> Bool {
    guard isRefreshable, let due = hasFailed ? end : due else { return false }
    return now >= due
  }

  /// Returns `true` if the credential is known to be good.
  func isGood(at now: Date) -> Bool { end.map { now < $0 } ?? false }
}

/// The refresh of a credential that the current task is part of. It keeps a refresh from waiting
/// for itself.
///
/// Requests of the refresh pass its middleware unsigned, and share no flight: a flight may be
/// waiting for the refresh. Both rules end with the refresh, even for a task that outlives it.
final class Refreshing: Sendable {
  @TaskLocal private static var current: Refreshing?

  private let middleware: ObjectIdentifier
  private let outer: Refreshing?
  private let isOver = Atomic<Bool>(false)

  private init(_ middleware: ObjectIdentifier, within outer: Refreshing?) {
    self.middleware = middleware
    self.outer = outer
  }

  /// Runs `body` as a refresh of `middleware`.
  static func run<Result: Sendable>(
    of middleware: ObjectIdentifier, _ body: () async -> Result
  ) async -> Result {
    let refreshing = Refreshing(middleware, within: current)
    defer { refreshing.isOver.store(true, ordering: .releasing) }
    return await $current.withValue(refreshing) { await body() }
  }

  /// Runs `body` outside of any refresh, even if the current task is part of one.
  static func outside(_ body: () async -> Void) async {
    guard current != nil else { return await body() }
    await $current.withValue(nil) { await body() }
  }

  /// A Boolean value that indicates whether the current task is part of a refresh that has not
  /// ended.
  static var isUnderWay: Bool { isUnderWay { _ in true } }

  /// Returns `true` if the current task is part of a refresh of `middleware` that has not ended.
  static func isUnderWay(of middleware: ObjectIdentifier) -> Bool { isUnderWay { $0 == middleware } }

  private static func isUnderWay(where isMeant: (ObjectIdentifier) -> Bool) -> Bool {
    var next = current
    while let refreshing = next {
      if isMeant(refreshing.middleware), !refreshing.isOver.load(ordering: .acquiring) { return true }
      next = refreshing.outer
    }
    return false
  }
}
