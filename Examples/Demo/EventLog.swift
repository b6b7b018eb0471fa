import ReactorCore
import Synchronization

/// The events of a layer since the last call of ``take()``.
final class EventLog: Sendable {
  private let events = Mutex<[ReactorEvent.Kind]>([])

  func add(_ event: ReactorEvent) { events.withLock { $0.append(event.kind) } }

  /// Returns the events in order, and clears the log.
  func take() -> [ReactorEvent.Kind] {
    events.withLock { events in
      defer { events = [] }
      return events
    }
  }
}

extension [ReactorEvent.Kind] {
  var hasMemoryHit: Bool { contains { if case .memoryHit = $0 { true } else { false } } }
  var hasRequest: Bool { contains { if case .request = $0 { true } else { false } } }
  var hasConditionalRequest: Bool {
    contains { if case .request(isConditional: true) = $0 { true } else { false } }
  }
  /// The status of the latest response.
  var status: Int? { compactMap { if case .response(let status, _, _) = $0 { status } else { nil } }.last }
  /// Bytes that were parsed.
  var parsedBytes: Int {
    reduce(0) { sum, kind in
      switch kind {
      case .parsed(let bytes, _): sum + bytes
      case .notModified(let bytes): sum + bytes
      default: sum
      }
    }
  }
  var hasNotModified: Bool { contains { if case .notModified = $0 { true } else { false } } }
  var hasSaved: Bool { contains { if case .saved = $0 { true } else { false } } }
  var pruned: [ParserError.PrunedElement] {
    reduce(into: []) { sum, kind in
      if case .pruned(let elements, _) = kind { sum += elements }
    }
  }
}
