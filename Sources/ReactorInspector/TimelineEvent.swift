import ReactorCore

/// A `ReactorEvent` as it is kept: small, stamped on arrival, and without anything of a response's body.
struct TimelineEvent: Sendable, Hashable {
  typealias Name = ReactorEvent.Kind.Name

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
    if case .progress = event.kind { return nil }
    self.at = at
    model = event.model
    name = event.kind.name
    switch event.kind {
    case .persistenceHit(let isFresh): flag = isFresh
    case .request(let isConditional): flag = isConditional
    case .response(let status, let bytes, let duration):
      (self.status, count, self.duration) = (status, bytes, duration.milliseconds)
    case .retry(let attempt, let delay, let reason):
      (count, duration, self.reason) = (attempt, delay.milliseconds, reason)
    case .parsed(let bytes, let duration): (count, self.duration) = (bytes, duration.milliseconds)
    case .duplicateMembers(let names): count = names.count
    case .notModified(let number), .pruned(_, let number), .saved(let number), .dropped(let number): count = number
    case .loadFailed(let error), .saveFailed(let error), .failed(let error): reason = Reason.text(error)
    default: break
    }
  }
}

extension TimelineEvent: Encodable {
  /// Only what is not zero: thousands are sent.
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(number, forKey: .number)
    try container.encode(at.rounded(toTenths: ()), forKey: .at)
    try container.encode(name.rawValue, forKey: .name)
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
