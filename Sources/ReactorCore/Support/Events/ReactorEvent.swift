public import Foundation
public import HTTPTypes

/// An event that concerns one key of one reactor.
///
/// ```swift
/// layer.observeEvents(for: metrics) { metrics, event in
///   if case .response(let status, _, _) = event.kind { metrics.count(status) }
/// }
/// ```
///
/// Events serve logging, metrics, an inspector and tests. They hold no secrets: a key is redacted
/// when it is created, and errors describe themselves without header fields.
public struct ReactorEvent: Sendable, CustomStringConvertible {
  /// The key that the event concerns. Its description is the method and the redacted URL.
  public let key: RecordKey
  /// The name of the model's type.
  public let model: String
  /// The event itself, with its details.
  public let kind: Kind

  /// The kinds of events. Sizes count the bytes of a body.
  @nonexhaustive public enum Kind: Sendable {
    /// A fetch was answered from memory.
    case memoryHit
    /// Memory had no copy that the policy accepts.
    case memoryMiss
    /// Persistence had a record, and a model was made from it.
    case persistenceHit(isFresh: Bool)
    /// Persistence has the response to an equivalent URL, by its `No-Vary-Search`, and it is used
    /// for this key. The event ``persistenceHit(isFresh:)`` follows.
    case equivalentHit(of: RecordKey)
    /// Persistence had no record.
    case persistenceMiss
    /// The record could not be loaded or parsed. The flight continues as if nothing were stored.
    case loadFailed(ReactorError)
    /// A caller got a stale copy, which is revalidated in the background.
    case servedStale
    /// A caller or a stream joined a flight that was under way.
    case joined
    /// A request is about to be sent. `isConditional` is `true` if it carries validators.
    case request(isConditional: Bool)
    /// The server does not know `QUERY` here, and the same bytes are sent with the
    /// ``Resource/fallbackMethod``.
    case methodReplaced(by: HTTPRequest.Method)
    /// A response has arrived, `duration` after this attempt was sent.
    case response(status: Int, bytes: Int, duration: Duration)
    /// The server says that it will change or end the resource (RFC 9745, RFC 8594). Each notice is
    /// reported for a path by the first response that has it, and again if a date moves by a day.
    case deprecated(Deprecation)
    /// A response that another process has shared was used, and nothing was sent. `bytes` is zero
    /// if it confirms the stored copy.
    case sharedHit(bytes: Int)
    /// The server has sent the new value in an event that told its change, and nothing was
    /// requested.
    case valueReceived(bytes: Int)
    /// A change was told with its entity tag, and every request since has got a version from before
    /// it. The value stays stale, and is requested again with the next change.
    case replicaLagged
    /// A transfer in pieces has progressed, by at least a twentieth of the whole body. A retry
    /// begins at zero again.
    case progress(TransferProgress)
    /// An attempt failed for `reason`. Attempt number `attempt` follows after the duration `after`.
    case retry(attempt: Int, after: Duration, reason: String)
    /// A 304 has confirmed the stored copy. `parsedBytes` of it had to be parsed; zero if its model
    /// was in memory.
    case notModified(parsedBytes: Int)
    /// A body was parsed into a model, in `duration`.
    case parsed(bytes: Int, duration: Duration)
    /// Elements that could not be parsed were left out: the first ones, at most
    /// ``ParserError/PrunedElement/limit``, and the number of all.
    case pruned([ParserError.PrunedElement], count: Int)
    /// Members of these names occurred twice in one object. The first was used.
    case duplicateMembers([String])
    /// A record was saved.
    case saved(bytes: Int)
    /// A value could not be saved, or a record could not be marked stale. The record on disk is
    /// unchanged.
    case saveFailed(ReactorError)
    /// A response is not saved yet after the ``ReactorConfiguration/persistenceBudget``. Its
    /// callers have it, and ``saved(bytes:)`` or ``saveFailed(_:)`` follows when the save ends.
    case saveIsLate(after: Duration)
    /// A local value cannot be encoded, for this reason. It is in memory only.
    case notEncoded(String)
    /// A flight waits for connectivity. A stream waits before its request, every waiter before a
    /// retry.
    case paused
    /// The server has failed, and stale copies stand in meanwhile. See
    /// ``ReactorConfiguration/remembersOutages``.
    case outageBegan
    /// A flight has failed at once, with this error of an earlier request: the server fails.
    case failedInOutage(ReactorError)
    /// The server has answered again, so long after the outage began.
    case outageEnded(after: Duration)
    /// Something newer has overtaken a flight. After an invalidation the flight begins again; after
    /// a local write it ends. A flight that another reactor has overtaken ends too, and its
    /// response is not stored.
    case superseded
    /// A flight was cancelled: its last waiter left, or its key was removed.
    case cancelled
    /// A value was written locally. Memory and streams have it. ``ReactorEvent/Kind/saved(bytes:)``
    /// follows if it is persisted.
    case savedLocally
    /// A draft was applied to the value, until the server has answered its write.
    case drafted
    /// The write of a draft has ended. An accepted draft stays until a newer value replaces its
    /// base; any other is gone.
    case draftEnded(isAccepted: Bool)
    /// A write in an outbox has taken a step. The id is the id of its entry.
    case outbox(UUID, OutboxStep)
    /// The copy was declared stale by an invalidation, or by a request that changed the resource.
    case invalidated
    /// The resource was removed from memory. Its record is removed from disk next.
    case removed
    /// A model was evicted from memory.
    case evicted
    /// A flight, or a request without one, has failed with this error.
    case failed(ReactorError)
    /// This many events were lost here: observers, or a reader of ``ModelLayer/events``, were too
    /// slow.
    case dropped(Int)
  }

  /// The steps of a write in an outbox, for ``Kind/outbox(_:_:)``.
  @nonexhaustive public enum OutboxStep: Sendable {
    /// The write was saved, and will be sent when its turn comes.
    case submitted
    /// Attempt number `attempt` is about to be sent.
    case sending(attempt: Int)
    /// The write continues later, for this reason.
    case postponed(String)
    /// The server has accepted the write.
    case accepted
    /// The server has refused the write, or it cannot be sent.
    case refused(ReactorError)
    /// The server may or may not have carried out the write, and it is not sent again.
    case unresolved
    /// The base of the write has changed on the server. `isRebased` is `true` if it is made again.
    case conflicted(isRebased: Bool)
    /// The write was taken back before it was sent.
    case withdrawn
    /// The write was removed by the program, or with everything of its scope.
    case discarded
    /// Another process has finished the write, or has taken it back.
    case endedElsewhere
    /// The write, or a part of the store, cannot be read, for this reason. It is kept.
    case unreadable(String)
    /// The store has failed with this error.
    case storeFailed(ReactorError)
  }

  /// The kind and the redacted key, in one line.
  public var description: String { "\(kind) \(key)" }
}

extension ReactorEvent.OutboxStep: CustomStringConvertible {
  /// A description in one line of plain words.
  public var description: String {
    switch self {
    case .submitted: "submitted"
    case .sending(let attempt): "sending, attempt \(attempt)"
    case .postponed(let reason): "postponed, \(reason)"
    case .accepted: "accepted"
    case .refused(let error): "refused, \(error.reason)"
    case .unresolved: "unresolved, the server may have carried it out"
    case .conflicted(let isRebased): isRebased ? "conflicted, the request is built again" : "conflicted"
    case .withdrawn: "withdrawn"
    case .discarded: "discarded"
    case .endedElsewhere: "finished by another process"
    case .unreadable(let reason): "unreadable, \(reason)"
    case .storeFailed(let error): "the store failed, \(error.reason)"
    }
  }
}

extension ReactorEvent.Kind: CustomStringConvertible {
  /// A description in one line of plain words.
  public var description: String {
    switch self {
    case .memoryHit: "memory hit"
    case .memoryMiss: "memory miss"
    case .persistenceHit(let isFresh): "persistence hit, \(isFresh ? "fresh" : "stale")"
    case .equivalentHit(let key): "equivalent of \(key)"
    case .persistenceMiss: "persistence miss"
    case .loadFailed(let error): "load failed, \(error.reason)"
    case .servedStale: "served stale"
    case .joined: "joined a flight"
    case .request(let isConditional): isConditional ? "request, conditional" : "request"
    case .methodReplaced(let method): "\(method.rawValue) in place of QUERY, which the server does not know"
    case .response(let status, let bytes, let duration): "response \(status), \(bytes) bytes in \(Self.text(duration))"
    case .deprecated(let notice): "\(notice)"
    case .sharedHit(let bytes): "a shared response, \(bytes) bytes"
    case .valueReceived(let bytes): "a value with its change, \(bytes) bytes"
    case .replicaLagged: "the server answers with an old version, a replica lags"
    case .retry(let attempt, let delay, let reason): "retry, attempt \(attempt) in \(Self.text(delay)), \(reason)"
    case .progress(let progress): "transferred \(Int(progress.fractionCompleted * 100)) %"
    case .notModified(let bytes):
      "304 not modified, 0 bytes of the response parsed"
        + (bytes > 0 ? ", \(bytes) bytes of the stored record parsed" : "")
    case .parsed(let bytes, let duration): "parsed \(bytes) bytes in \(Self.text(duration))"
    case .pruned(let elements, let count):
      "pruned \(count): " + elements.prefix(3).map { "[\($0.index)] \($0.error)" }.joined(separator: "; ")
        + (count > 3 ? "; and \(count - 3) more" : "")
    case .duplicateMembers(let names): "duplicate members, the first was used: \(names.joined(separator: ", "))"
    case .saved(let bytes): "saved \(bytes) bytes"
    case .saveFailed(let error): "save failed, \(error.reason)"
    case .saveIsLate(let duration): "not saved yet, after \(duration)"
    case .notEncoded(let reason): "in memory only, \(reason)"
    case .paused: "paused, waiting for connectivity"
    case .outageBegan: "the server fails"
    case .failedInOutage(let error): "failed like an earlier request: \(error.reason)"
    case .outageEnded(let duration): "the server answers again, after \(duration)"
    case .superseded: "superseded, the result is not stored"
    case .cancelled: "cancelled, no waiter is left"
    case .savedLocally: "saved locally"
    case .drafted: "drafted"
    case .draftEnded(let isAccepted): isAccepted ? "draft accepted" : "draft removed"
    case .outbox(let id, let step): "outbox \(id.uuidString.prefix(8)), \(step)"
    case .invalidated: "invalidated"
    case .removed: "removed"
    case .evicted: "evicted from memory"
    case .failed(let error): "failed, \(error.reason)"
    case .dropped(let count): "dropped \(count) events, the observer is too slow"
    }
  }

  private static func text(_ duration: Duration) -> String {
    let milliseconds = duration.inSeconds * 1000
    let tenths = Int(min(milliseconds * 10, 1e15).rounded())
    return "\(tenths / 10).\(tenths % 10) ms"
  }
}
