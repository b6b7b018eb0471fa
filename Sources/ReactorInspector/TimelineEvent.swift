import ReactorCore

/// A `ReactorEvent` as it is kept: small, stamped on arrival, and without anything of a response's body.
struct TimelineEvent: Sendable, Hashable {
  enum Name: String, Sendable, Encodable, CaseIterable {
    case memoryHit, memoryMiss, persistenceHit, persistenceMiss, loadFailed, servedStale, joined, request, response,
      retry
    case notModified, parsed, pruned, duplicateMembers, saved, saveFailed, notEncoded, paused, superseded, cancelled
    case savedLocally, invalidated, removed, evicted, failed, dropped
  }

  /// Counts up over all keys.
  var number: UInt64 = 0
  /// Milliseconds since 1970.
  var at: Double
  let name: Name
  /// Of a persistence hit: whether it was fresh; of a request: whether it was conditional.
  var flag = false
  /// Of a response.
  var status = 0
  /// Of a response or record, or how many elements were pruned; the number of a retry's attempt.
  var count = 0
  /// In milliseconds: of a response or of parsing, or before a retry.
  var duration = 0.0
  /// The name of the model's type.
  var model: String
  /// Why, where it went wrong.
  var reason: String?
}

extension TimelineEvent {
  /// `nil` for what is no step: progress.
  init?(_ event: ReactorEvent, at: Double) {
    self.at = at
    model = event.model
    switch event.kind {
    case .memoryHit: name = .memoryHit
    case .memoryMiss: name = .memoryMiss
    case .persistenceHit(let isFresh): (name, flag) = (.persistenceHit, isFresh)
    case .persistenceMiss: name = .persistenceMiss
    case .loadFailed(let error): (name, reason) = (.loadFailed, Reason.text(error))
    case .servedStale: name = .servedStale
    case .joined: name = .joined
    case .request(let isConditional): (name, flag) = (.request, isConditional)
    case .response(let status, let bytes, let duration):
      (name, self.status, count, self.duration) = (.response, status, bytes, duration.milliseconds)
    case .progress: return nil
    case .retry(let attempt, let delay, let reason):
      (name, count, duration, self.reason) = (.retry, attempt, delay.milliseconds, reason)
    case .notModified(let bytes): (name, count) = (.notModified, bytes)
    case .parsed(let bytes, let duration): (name, count, self.duration) = (.parsed, bytes, duration.milliseconds)
    case .pruned(_, let pruned): (name, count) = (.pruned, pruned)
    case .duplicateMembers(let names): (name, count) = (.duplicateMembers, names.count)
    case .saved(let bytes): (name, count) = (.saved, bytes)
    case .saveFailed(let error): (name, reason) = (.saveFailed, Reason.text(error))
    case .notEncoded: name = .notEncoded
    case .paused: name = .paused
    case .superseded: name = .superseded
    case .cancelled: name = .cancelled
    case .savedLocally: name = .savedLocally
    case .invalidated: name = .invalidated
    case .removed: name = .removed
    case .evicted: name = .evicted
    case .failed(let error): (name, reason) = (.failed, Reason.text(error))
    case .dropped(let count): (name, self.count) = (.dropped, count)
    }
  }
}

extension TimelineEvent: Encodable {
  /// Only what is not zero: thousands are sent.
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(number, forKey: .number)
    try container.encode(at.rounded(toTenths: ()), forKey: .at)
    try container.encode(name, forKey: .name)
    try container.encode(model, forKey: .model)
    if flag { try container.encode(flag, forKey: .flag) }
    if status != 0 { try container.encode(status, forKey: .status) }
    if count != 0 { try container.encode(count, forKey: .count) }
    if duration != 0 { try container.encode(duration.rounded(toTenths: ()), forKey: .duration) }
    try container.encodeIfPresent(reason, forKey: .reason)
  }

  private enum CodingKeys: String, CodingKey {
    case number, at, name, flag, status, count, duration, model, reason
  }
}
