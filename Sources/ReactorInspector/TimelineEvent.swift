import ReactorCore

/// A compact copy of a `ReactorEvent`, stamped on arrival, without any part of a response's body.
struct TimelineEvent: Sendable, Hashable {
  typealias Name = ReactorEvent.Kind.Name

  /// The position in the sequence of all keys' events.
  var number: UInt64 = 0
  /// Milliseconds since 1970.
  var at: Double
  let name: Name
  /// Freshness of a persistence hit; for a request, whether it was conditional.
  var flag = false
  /// The status code of a response.
  var status = 0
  /// The number of bytes, pruned elements, duplicate names or lost events; for a retry, the number
  /// of its attempt.
  var count = 0
  /// The duration of a response or of parsing, or the delay before a retry, in milliseconds.
  var duration = 0.0
  /// The name of the model's type.
  var model: String
  /// The reason of a failure or a retry.
  var reason: String?
}

extension TimelineEvent {
  /// Creates a copy of the event, or `nil` for progress, which is not a step.
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
    case .methodReplaced(let method): reason = method.rawValue
    case .equivalentHit(let key): reason = "\(key)"
    case .deprecated(let notice): reason = "\(notice)"
    case .notModified(let number), .pruned(_, let number), .saved(let number), .dropped(let number),
      .sharedHit(let number), .valueReceived(let number):
      count = number
    case .loadFailed(let error), .saveFailed(let error), .failed(let error): reason = Reason.text(error)
    default: break
    }
  }
}

extension TimelineEvent: Encodable {
  /// Encodes the members that differ from their defaults. A frame may hold thousands of them.
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
