public import Foundation
import HTTPCaching
public import HTTPTypes
public import ReactorCore
import ReactorWrites
import Synchronization

/// The writes of a layer that no server has answered yet.
///
/// ```
/// Mutation ─▶ ModelLayer.submit
///               │ Drafts       shown over the cached values at once
///               │ Storage      saved; then submit returns
///               │   (its turn in its lane, connectivity, not paused, a lease)
///               │ Request      made from what is confirmed, saved, then sent
///               │ SendOutcome  accepted, refused, conflict, later, unsent, sign in, unknown
///               │ Drafts       accepted: kept until a newer value; otherwise gone
///               └ Storage      ended
/// ```
///
/// Get it from ``ReactorCore/ModelLayer/outbox``. Its methods may be called from any isolation.
public final class Outbox: Sendable {
  let configuration: OutboxConfiguration
  let scope: Scope
  private let link: Link
  /// The identity of this process among the processes that share the store.
  let process: UUID
  let random: SplitMix64
  let commits: CommitQueue
  let tags = EntityTags()
  /// The time on the configuration's clock since the outbox was made.
  let elapsed: @Sendable () -> Duration
  /// Suspends until the clock shows this time.
  let sleep: @Sendable (_ until: Duration) async throws -> Void
  private let state: Mutex<OutboxState>

  /// The time for which an entry is leased.
  static let lease: Duration = .seconds(30)
  /// The interval at which the store is read to see whether another process has finished an entry.
  static let poll: Duration = .seconds(1)
  /// The time after which a store that has failed is tried again.
  static let storePause: Duration = .seconds(5)
  /// The time for which an accepted draft outlives its process.
  static let keepsAccepted: Duration = .seconds(600)
  /// The limit of accepted entries that are kept for their drafts.
  static let acceptedLimit = 100

  init(_ configuration: OutboxConfiguration, _ layer: LayerContext) {
    self.configuration = configuration
    scope = layer.scope
    link = Link(layer: layer)
    process = configuration.makeID()
    random = SplitMix64(seed: configuration.retry.seed ?? .random(in: 0 ... .max))
    (elapsed, sleep) = layer.configuration.clock.timeline()
    commits = CommitQueue(configuration.storage, layer.scope)
    state = Mutex(
      OutboxState(
        isRead: configuration.storage is MemoryOutboxStorage, sendsByItself: configuration.sendsByItself,
        turns: LaneTurns(layer.sendings)))
    if let signIn = layer.backend?.authentication as? any SignInObservable {
      signIn.observeSignIn(self) { $0.signedIn() }
    }
  }

  deinit {
    let results = withState { state in
      state.timer?.task.cancel()
      state.watcher?.cancel()
      return state.inOrder(\.result)
    }
    // The entries are kept for the next layer of the scope, and nothing else resumes these waiters.
    for result in results { result.settle(.failure(.cancelled)) }
  }

  /// Reads or changes the state under its lock. `body` calls no other code.
  ///
  /// Requests that waited for a write that is no longer due are checked afterwards.
  func withState<Result: Sendable>(_ body: (inout OutboxState) -> Result) -> Result {
    let (result, freed) = state.withLock { state in (body(&state), state.turns.takeFreed()) }
    if !freed.isEmpty { layer?.lookAgain(at: freed) }
    return result
  }

  /// The layer; `nil` once it is released.
  var layer: LayerContext? { link.layer }

  private struct Link: Sendable {
    weak var layer: LayerContext?
  }
}

extension Outbox {
  /// The entries that no server has accepted, in the order of submission, as far as this process
  /// has read the store.
  ///
  /// In a new process, the list is empty until the store is read. A program that looks once, such
  /// as a command-line tool, calls ``reload()``, which waits for that. ``states`` begins with it.
  ///
  /// ```swift
  /// let refused = layer.outbox.entries.filter { entry in
  ///   if case .refused = entry.state { true } else { false }
  /// }
  /// ```
  public var entries: [Entry] {
    guard let layer else { return [] }
    let conditions = conditions(layer)
    return withState { $0.list(conditions, secretNames: layer.configuration.secretQueryItems) }
  }

  /// The entries once the store is loaded, and again after each change. A slow reader skips
  /// intermediate states, but never the last one. The sequence ends when its reader is cancelled.
  ///
  /// ```swift
  /// for await entries in layer.outbox.states { badge.count = entries.count }
  /// ```
  public var states: some AsyncSequence<[Entry], Never> & Sendable { OutboxStates(outbox: self, layer: layer) }

  /// The parts of the store that were damaged and set aside, in the words of
  /// ``OutboxContents/setAside``, which name the file; none before the store is read.
  ///
  /// ```swift
  /// for part in layer.outbox.setAside { logger.error("\(part)") }
  /// ```
  ///
  /// An event reports each of them once. An observer that is added to a new layer may come after
  /// the store was read, and miss it.
  public var setAside: [String] { withState(\.setAside) }

  /// Withdraws an entry that was not sent.
  ///
  /// ```swift
  /// if await !layer.outbox.withdraw(entry.id) { showTooLate() }
  /// ```
  ///
  /// - Returns: `true` if the entry is gone, and the server never saw it; `false` if a part of it
  ///   may have been sent, or there is no such entry.
  @discardableResult public func withdraw(_ id: Entry.ID) async -> Bool { await takeBackUnsent(id) }

  /// Sends a refused, conflicted or unresolved entry again, at the end of its lane.
  ///
  /// ```swift
  /// if case .refused = entry.state { await layer.outbox.retry(entry.id) }
  /// ```
  ///
  /// A refused or conflicted entry is sent under a new idempotency key, an unresolved one with the
  /// same bytes under its own. Entries that wait for its ids go after it.
  ///
  /// - Returns: `false` if there is no such entry, its state forbids it, it contains a temporary id
  ///   that no entry resolves any more, or the store failed.
  @discardableResult public func retry(_ id: Entry.ID) async -> Bool { await sendAgain(id) }

  /// Removes a refused, conflicted, unresolved or unreadable entry. Entries that wait for its ids
  /// are refused.
  ///
  /// ```swift
  /// if case .unresolved = entry.state { await layer.outbox.discard(entry.id) }
  /// ```
  ///
  /// - Returns: `false` if there is no such entry, its state forbids it, or the store failed.
  @discardableResult public func discard(_ id: Entry.ID) async -> Bool { await removeDecidable(id) }

  /// Sends nothing more until ``resume()``. A request that is being sent continues. The pause ends
  /// with the process.
  ///
  /// ```swift
  /// layer.outbox.pause()
  /// defer { layer.outbox.resume() }
  /// ```
  public func pause() {
    withState { $0.queue.isPaused = true }
    changed()
  }

  /// Continues after ``pause()`` or a 401, and tries the entries at once that could not reach the
  /// server. After a 401, a sign-in through an `AuthenticationMiddleware` also continues, and so
  /// does a refresh that succeeds after a refused one.
  ///
  /// ```swift
  /// outbox.resume()  // for a "Try now" button
  /// ```
  public func resume() {
    withState { state in
      state.queue.isPaused = false
      state.queue.signedIn()
      state.signIns += 1
      state.queue.forgetUnsentBackoff()
    }
    changed()
    pump()
  }

  /// Sends until no entry can be sent, or the time is over. Entries that could not reach the server
  /// before are tried at once. Requests in flight at the end continue; ``stop()`` cancels them.
  ///
  /// ```swift
  /// let left = await layer.outbox.drain(within: .seconds(10))
  /// if left > 0 { show(layer.outbox.entries) }
  /// ```
  ///
  /// Call it in a background task, or before signing out. Cancelling the call ends the wait.
  /// Entries that other processes add meanwhile are sent too.
  ///
  /// - Returns: The number of ``entries`` after that: of those that wait, are refused, conflicted
  ///   or unresolved, or cannot be read. It is zero only if a server has accepted every entry of
  ///   the store, or the store could not be read, for which ``reload()`` throws the error.
  @discardableResult public func drain(within duration: Duration) async -> Int { await sendAll(within: duration) }

  /// Sends the lane of an entry until the entry is finished, no entry of the lane can be sent, or
  /// the time is over. Requests in flight at the end continue; ``stop()`` cancels them.
  ///
  /// ```swift
  /// let submission = try await layer.submit(AddPost(title: "Hello"))
  /// let hasEnded = await layer.outbox.drain(until: submission.id, within: .seconds(10))
  /// ```
  ///
  /// Cancelling the call ends the wait.
  ///
  /// - Returns: `true` if the entry is finished, or there is no such entry. A refused or unresolved
  ///   entry is finished, too: ``Submission/answer()`` throws the error, and ``entries`` has the
  ///   entry.
  @discardableResult public func drain(until id: Entry.ID, within duration: Duration) async -> Bool {
    await sendLane(of: id, within: duration)
  }

  /// Cancels the requests that are being sent, and waits until their new state is saved. Nothing is
  /// sent after that.
  ///
  /// ```swift
  /// await layer.outbox.drain(within: .seconds(5))
  /// await layer.outbox.stop()
  /// ```
  ///
  /// The outcome of a cancelled request is unknown. Call the method before the process ends, so
  /// that another one may send the entries at once. Otherwise their leases expire after 30 seconds.
  public func stop() async { await cancelSending() }

  /// Reads the store, with the changes that other processes have made since the last time.
  ///
  /// ```swift
  /// for entry in try await layer.outbox.reload() { print(entry.name, entry.state) }
  /// ```
  ///
  /// The outbox reads its store when it is created. Call the method to wait for that, or when an
  /// app whose extension also submits returns to the foreground.
  ///
  /// - Returns: The ``entries``.
  /// - Throws: `ReactorError.persistence` if the store cannot be read. ``entries`` then still has
  ///   the entries that were known before.
  @discardableResult public func reload() async throws(ReactorError) -> [Entry] {
    try await readStore()
    return entries
  }

  /// Returns the server's id that replaced a temporary one, so that a view keeps its identity.
  ///
  /// ```swift
  /// let id = layer.outbox.identity(of: mutation.id)
  /// ```
  ///
  /// - Returns: `nil` if the server has not given an id yet. Of the ids that no entry contains, the
  ///   latest 1,000 are known.
  public func identity(of temporary: TemporaryID) -> JSONValue? {
    withState { $0.identities[temporary.string] }.flatMap { try? JSONValue(parsing: $0) }
  }
}

extension Outbox {
  /// One write of an outbox.
  ///
  /// ```swift
  /// for entry in outbox.entries {
  ///   if case .refused(let error) = entry.state { show(entry.name, error) }
  /// }
  /// ```
  public struct Entry: Sendable, Identifiable {
    /// The identity, the same after each start.
    public let id: UUID
    /// The name of the mutation's type; empty if the entry cannot be read.
    public let name: String
    /// The lane.
    public let lane: Lane
    /// The mutation; `nil` if it cannot be read.
    public let mutation: (any Mutation)?
    /// The time of the submission, or of the latest ``Outbox/retry(_:)``.
    public let submittedAt: Date
    /// The number of attempts that may have reached the server under the current key.
    public let attempts: Int
    /// The state.
    public let state: State
    /// The method of the request; `nil` before it is made.
    public let method: HTTPRequest.Method?
    /// The URL of the request without secrets; `nil` before it is made.
    public let url: String?
    /// The status of the latest answer; `nil` if no response arrived.
    public let status: Int?
    /// The progress of its form while this process sends it; `nil` at other times, and for any
    /// other request. ``Outbox/states`` has a new value for each hundredth and stage.
    public let progress: TransferProgress?

    /// The state of an entry.
    ///
    /// ```swift
    /// let text = switch entry.state {
    /// case .waiting(.connectivity): "Waiting for a connection"
    /// case .refused(let error): "Not accepted: \(error)"
    /// default: "Sending"
    /// }
    /// ```
    @nonexhaustive public enum State: Sendable {
      /// It will be sent; the reason says what it waits for.
      case waiting(Reason)
      /// It is being prepared or sent, here or by another process.
      case sending
      /// The server may or may not have carried it out. It is sent again, for the same effect.
      case unknown(Reason)
      /// The base has changed on the server, and ``ConflictPolicy/ask`` waits for the program.
      case conflicted(Conflict)
      /// The server has refused it, or it cannot be sent.
      case refused(ReactorError)
      /// The server may or may not have carried it out, and it is not sent again by itself.
      case unresolved
      /// This program cannot read it, for this reason. It is kept, and read again at the next
      /// start.
      case unreadable(String)
    }

    /// The reason why an entry is not being sent.
    @nonexhaustive public enum Reason: Sendable, Hashable {
      /// Earlier entries of its lane are unfinished, or its lane is about to start.
      case turn
      /// There is no connectivity, as `Reachability` or the transport says.
      case connectivity
      /// An attempt has failed, or could not reach the server. The next one is made at this time.
      case backoff(until: Date)
      /// ``Outbox/pause()`` was called.
      case paused
      /// The server has answered 401. If the credential was renewed for the write, only its own
      /// lane waits.
      case signIn
      /// Another entry will supply an id that this one contains.
      case identity(of: UUID)
      /// ``Outbox/stop()`` was called. The next process sends it.
      case stopped
    }

    /// The server's answer to a write whose base has changed.
    ///
    /// ```swift
    /// for entry in outbox.entries {
    ///   guard case .conflicted(let conflict) = entry.state else { continue }
    ///   if await isStillWanted(entry, conflict.body) {
    ///     await outbox.retry(entry.id)
    ///   } else {
    ///     await outbox.discard(entry.id)
    ///   }
    /// }
    /// ```
    public struct Conflict: Sendable {
      /// The status: 409 or 412.
      public let status: Int
      /// The response; `nil` after a restart.
      public let response: HTTPResponse?
      /// The body of the response; `nil` after a restart.
      public let body: Data?
    }
  }
}
