package import HTTPTypes

/// A store of records that other processes share, between the persistence of a cache and the
/// server.
///
/// A tier never fails a request: where it cannot answer, the cache continues without it.
package protocol CacheTier: Sendable {
  /// Returns a Boolean value that indicates whether a stored record may be used without a look-up
  /// in the tier.
  func vouches(for key: RecordKey, _ head: Record.Head) -> Bool

  /// Returns `true` if a fresh response is to be refreshed now, while it is used, because it
  /// expires soon.
  func refreshesEarly(_ head: Record.Head, of key: RecordKey, _ status: CopyStatus) -> Bool

  /// Returns a Boolean value that indicates whether a message about every change of a key's
  /// response has arrived since it was last compared.
  func follows(_ key: RecordKey) -> Bool

  /// Stops trusting copies that others may have changed unnoticed, once the time for that is over.
  /// It comes before a use that does not ask the tier: no timer has fired in a process that was
  /// stopped.
  func advance()

  /// Calls `body` for each change by others, until the token is released. It is called on the
  /// thread that has learnt of the change.
  func observe(_ body: @escaping @Sendable (CacheTierChange) -> Void) -> any CacheTierObservation

  /// Begins to answer one request; `nil` while the tier is off.
  ///
  /// - Parameter mayShare: `false` if the response must not leave the process. What others change
  ///   makes it stale all the same.
  func look(for key: RecordKey, _ request: HTTPFields, mayShare: Bool) -> (any CacheTierLook)?

  /// Makes URLs stale for every process, or removes them. Returns once the tier has it, or has kept
  /// it for later.
  func fence(_ urls: Set<String>, in scope: Scope, removes: Bool) async

  /// Removes every record of a scope for every process; with `nil`, of every scope.
  func removeAll(in scope: Scope?) async
}

/// The responses that others have changed.
package enum CacheTierChange: Sendable, Hashable {
  case keys(Set<RecordKey>)
  /// Any of them may be out of date, because messages were missed for a while.
  case all
}

/// A token whose release ends an observation.
package protocol CacheTierObservation: AnyObject, Sendable {}

/// The look-ups of one request, which share a budget of time.
package protocol CacheTierLook: AnyObject, Sendable {
  /// Compares a stored record with the tier's.
  func find(local: Record?) async -> CacheTierFinding

  /// Draws a ticket for a request to the server.
  ///
  /// - Parameters:
  ///   - asksAlone: `false` to ask at all events, without holding others up.
  ///   - mayWait: `true` to wait if another process has sent the request already.
  func begin(asksAlone: Bool, mayWait: Bool) async -> CacheTierBeginning
}

/// The tier's record beside the stored one.
package enum CacheTierFinding: Sendable {
  /// The tier's record is this one, and another than the stored.
  case record(Record)
  /// The stored record is the tier's.
  case same
  /// The stored record is out of date, or the tier knows nothing of it.
  case stale
}

package enum CacheTierBeginning: Sendable {
  /// Send the request, and report its outcome to the ticket.
  case ask(any CacheTicket)
  /// Look again: this much later, something has changed.
  case again(after: Duration)
  /// Another process sends the request, and this one does not wait for it.
  case held
  /// The request of another process has failed a moment ago.
  case failed
}

/// The right to share the response to a request. A ticket that is released without an outcome is
/// abandoned.
package protocol CacheTicket: AnyObject, Sendable {
  /// Shares a response that was stored.
  ///
  /// - Parameter isConfirmation: `true` if the body comes from the record that was validated.
  func keep(_ record: Record, isConfirmation: Bool)
  /// The server's response cannot be shared.
  func pass()
  /// The server gave no answer, or a 5xx.
  func fail()
}
