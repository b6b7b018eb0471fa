import Synchronization

/// The credential of an ``AuthenticationMiddleware``, and who waits for the next one: a state machine that returns actions.
///
/// It knows neither requests nor tasks. Refreshes are numbered, and a credential's version is the number of the one that made it, so that a
/// late 401 for an old credential is told from one for the current one. The shell performs what is returned, after it has unlocked.
struct CredentialRefresh<Credential: Sendable>: Sendable {
  typealias WaiterID = UInt64

  struct Held: Sendable {
    let credential: Credential
    /// 0 for the first.
    let version: UInt64
  }

  /// How things stood when a request was about to be signed.
  struct Look: Sendable {
    /// `nil` where the credential is known to be refused and the next one is to be waited for, and after a sign-out.
    let usable: Held?
    let version: UInt64
    /// The number of the latest refresh that has failed, or 0.
    let failed: UInt64
  }

  enum Action: Sendable {
    /// To be reported to ``ended(_:of:)`` with its number.
    case refresh(Credential, number: UInt64)
    /// The refresh under way is of no use any more.
    case cancelRefresh
    case resume([WaiterID], Result<Held, any Error>)
  }

  private struct Refresh {
    let number: UInt64
    /// In the order of arrival, never empty.
    var waiters: [WaiterID]
  }

  /// `nil` after a sign-out.
  private var held: Held?
  /// The number of whatever has last settled who is signed in: a refresh, a sign-in or a sign-out.
  private var version: UInt64 = 0
  /// The credentials before this one were signed out.
  private var signedOut: UInt64 = 0
  private var refresh: Refresh?
  private var failure: (number: UInt64, error: any Error)?
  private var lastNumber: UInt64 = 0

  init(_ credential: Credential) { held = Held(credential: credential, version: 0) }

  /// What a request that begins now goes by.
  var look: Look { Look(usable: refresh == nil ? held : nil, version: version, failed: failure?.number ?? 0) }

  /// Returns whether nobody has signed out since.
  func permits(_ held: Held) -> Bool { held.version >= signedOut }

  /// A waiter needs another credential.
  ///
  /// - Parameters:
  ///   - refused: the version that the server has refused, to it or to somebody else.
  ///   - failed: of the ``Look`` that the waiter went by. A refresh that has failed since was for it too.
  mutating func wait(_ id: WaiterID, refused: UInt64, failed: UInt64) -> [Action] {
    if refresh != nil {
      refresh?.waiters.append(id)
      return []
    }
    guard let held else { return [.resume([id], .failure(ReactorError.authentication(SignedOut())))] }
    guard refused == held.version else { return [.resume([id], .success(held))] }
    if let failure, failure.number > failed { return [.resume([id], .failure(failure.error))] }
    lastNumber += 1
    refresh = Refresh(number: lastNumber, waiters: [id])
    return [.refresh(held.credential, number: lastNumber)]
  }

  /// A waiter was cancelled.
  mutating func leave(_ id: WaiterID) -> [Action] {
    guard let index = refresh?.waiters.firstIndex(of: id) else { return [] }
    refresh?.waiters.remove(at: index)
    let left: [Action] = [.resume([id], .failure(CancellationError()))]
    guard refresh?.waiters.isEmpty == true else { return left }
    refresh = nil
    return [.cancelRefresh] + left
  }

  /// A refresh has ended. One that was cancelled and succeeded all the same is used, unless something later has settled who is signed
  /// in: the server may have taken back the old credential.
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

  /// Somebody has signed in: those who wait for a refresh go on with this credential.
  mutating func signIn(_ credential: Credential) -> [Action] {
    lastNumber += 1
    return conclude(credential, number: lastNumber, endsRefresh: true)
  }

  /// Nothing is signed from now on, and what a refresh under way brings is dropped.
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

/// The refresh of a credential that the current task is part of, so that the refresh cannot wait for itself.
///
/// Requests that it sends pass its middleware unsigned, and no flight is shared with it: the flight may be waiting for the
/// refresh. Both end with the refresh, also for a task that it has left behind.
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

  /// Runs `body` as part of no refresh, whatever task made it.
  static func outside(_ body: () async -> Void) async {
    guard current != nil else { return await body() }
    await $current.withValue(nil) { await body() }
  }

  /// A Boolean value that indicates whether the current task is part of a refresh that has not ended.
  static var isUnderWay: Bool { isUnderWay { _ in true } }

  /// The same for the refreshes of one middleware.
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
