/// One thing that happened to one key of one reactor.
///
/// Events are for logging, metrics, an inspector and tests. They hold no secret: a key is redacted when it is made, and
/// errors describe themselves without header fields.
public struct ReactorEvent: Sendable, CustomStringConvertible {
  /// What it happened to; its description is the method and the redacted URL.
  public let key: RecordKey
  /// The name of the model's type.
  public let model: String
  public let kind: Kind

  @nonexhaustive public enum Kind: Sendable {
    /// Memory answered.
    case memoryHit
    /// Memory had nothing that the policy may use.
    case memoryMiss
    /// Persistence had a record, and it was made a model.
    case persistenceHit(isFresh: Bool)
    /// Persistence had nothing.
    case persistenceMiss
    /// What persistence had could not be used; the network is asked as if there were nothing.
    case loadFailed(ReactorError)
    /// A stale copy was returned.
    case servedStale
    /// A caller or a stream joined a flight that was under way.
    case joined
    /// A request goes to the network; `isConditional` where it carries validators.
    case request(isConditional: Bool)
    /// A response has arrived, after `duration`.
    case response(status: Int, bytes: Int, duration: Duration)
    /// A body that comes or goes in pieces has got further, by a twentieth of the whole at least. A retry begins at zero again.
    case progress(TransferProgress)
    /// The request failed for `reason`; its attempt number `attempt` follows `after` this.
    case retry(attempt: Int, after: Duration, reason: String)
    /// 304: the stored copy is good. `parsedBytes` of it had to be parsed, since no model of it was in memory.
    case notModified(parsedBytes: Int)
    /// A body became a model, in `duration`.
    case parsed(bytes: Int, duration: Duration)
    /// Elements were left out: the first ones, at most ``PrunedElement/limit``, and the count of all.
    case pruned([PrunedElement], count: Int)
    /// Members stood twice in one object; the first was used.
    case duplicateMembers([String])
    /// A record was saved, of so many bytes of body.
    case saved(bytes: Int)
    /// A value could not be saved; what was there before is untouched.
    case saveFailed(ReactorError)
    /// A local value has no representation in bytes; it is in memory only.
    case notEncoded(String)
    /// A flight waits for connectivity: streams before their request, anyone before a retry.
    case paused
    /// Something newer has overtaken a flight. After an invalidation it begins again; a local write ends it; what another reactor
    /// has overtaken ends too, and its answer is not stored.
    case superseded
    /// The last waiter left, or the key was removed: the flight was cancelled.
    case cancelled
    /// A local value was saved.
    case savedLocally
    case invalidated
    case removed
    /// A model left memory.
    case evicted
    /// A flight ended with this error.
    case failed(ReactorError)
    /// This many events were lost here, since observers or a reader of ``ModelLayer/events`` were slower than what happened.
    case dropped(Int)
  }

  public var description: String { "\(kind) \(key)" }
}

extension ReactorEvent.Kind: CustomStringConvertible {
  /// One line of plain words.
  public var description: String {
    switch self {
    case .memoryHit: "memory hit"
    case .memoryMiss: "memory miss"
    case .persistenceHit(let isFresh): "persistence hit, \(isFresh ? "fresh" : "stale")"
    case .persistenceMiss: "persistence miss"
    case .loadFailed(let error): "load failed, \(error.reason)"
    case .servedStale: "served stale"
    case .joined: "joined a flight"
    case .request(let isConditional): isConditional ? "request, conditional" : "request"
    case .response(let status, let bytes, let duration): "response \(status), \(bytes) bytes in \(Self.text(duration))"
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
    case .notEncoded(let reason): "in memory only, \(reason)"
    case .paused: "paused, waiting for connectivity"
    case .superseded: "superseded, the result is not stored"
    case .cancelled: "cancelled, nobody waits"
    case .savedLocally: "saved locally"
    case .invalidated: "invalidated"
    case .removed: "removed"
    case .evicted: "evicted from memory"
    case .failed(let error): "failed, \(error.reason)"
    case .dropped(let count): "dropped \(count) events, their observer is slow"
    }
  }

  private static func text(_ duration: Duration) -> String {
    let milliseconds = duration.inSeconds * 1000
    let tenths = Int(min(milliseconds * 10, 1e15).rounded())
    return "\(tenths / 10).\(tenths % 10) ms"
  }
}
