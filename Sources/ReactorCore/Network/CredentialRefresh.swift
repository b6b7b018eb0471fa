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

  private var held: Held
  private var refresh: Refresh?
  private var lastNumber: UInt64 = 0

  init(_ credential: Credential) { held = Held(credential: credential, version: 0) }

  /// What a request may be signed with now; `nil` where it is known to be refused, and the next one is to be waited for.
  var usable: Held? { refresh == nil ? held : nil }

  /// The version of the credential held.
  var version: UInt64 { held.version }

  /// A waiter needs another credential.
  ///
  /// - Parameter refused: the version that the server has refused, to it or to somebody else.
  mutating func wait(_ id: WaiterID, refused: UInt64) -> [Action] {
    if refresh != nil {
      refresh?.waiters.append(id)
      return []
    }
    guard refused == held.version else { return [.resume([id], .success(held))] }
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

  /// A refresh has ended. One that was cancelled and succeeded all the same is used, unless a later one has: the server may have
  /// taken back the old credential.
  mutating func ended(_ result: Result<Credential, any Error>, of number: UInt64) -> [Action] {
    let isCurrent = refresh?.number == number
    switch result {
    case .success(let credential):
      guard number > held.version else { return [] }
      held = Held(credential: credential, version: number)
    case .failure:
      guard isCurrent else { return [] }
    }
    guard let waiters = refresh.take()?.waiters else { return [] }
    return (isCurrent ? [] : [.cancelRefresh]) + [.resume(waiters, result.map { _ in held })]
  }
}
