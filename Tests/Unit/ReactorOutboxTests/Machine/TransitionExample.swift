import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox

/// An entry and its limits, as the cells of `OutcomesOfAWrite.md` have them.
struct TransitionExample {
  var entry: OutboxEntry
  var limits: OutboxEntry.Limits
  private let before: OutboxEntry

  private static let request = FrozenRequest(method: "POST", url: "https://api.example.com/a")

  /// `waiting; POST; key; attempts: 2; first: -9`.
  init(cell: String) throws {
    var entry = OutboxEntry(
      id: UUID(), lane: "main", name: "Add", version: 1, arguments: Data("{}".utf8), submittedAt: OutcomePage.now,
      idempotencyWindow: 86_400)
    entry.request = Self.request
    entry.state = .sending
    entry.attempts = 1
    var limits = OutboxEntry.Limits(newKey: { "new" })
    for (name, value) in OutcomePage.parts(cell) {
      guard !Self.set(name, value, &limits) else { continue }
      guard Self.set(name, value, &entry) else { throw UnknownCell(text: cell) }
    }
    entry.firstAttemptAt = entry.firstAttemptAt ?? (entry.state == .sending ? OutcomePage.now : nil)
    self.entry = entry
    self.limits = limits
    before = entry
  }

  private static func set(_ name: String, _ value: String, _ limits: inout OutboxEntry.Limits) -> Bool {
    switch name {
    case "maximum age": limits.maximumAge = .seconds(Int(value) ?? 0)
    case "policy": limits.onConflict = ConflictPolicy(rawValue: value) ?? .rebase
    default: return false
    }
    return true
  }

  private static func set(_ name: String, _ value: String, _ entry: inout OutboxEntry) -> Bool {
    let seconds = Double(value) ?? 0
    switch name {
    case "POST", "PUT", "PATCH", "DELETE": entry.request?.method = name
    case "not made":
      entry.request = nil
      entry.attempts = 0
    case "key":
      entry.idempotencyKey = "old"
      entry.request?.isKeyed = true
    case "If-Match": entry.request?.fields.append(.init(name: name, value: "\"a\""))
    case "in doubt": entry.isInDoubt = true
    case "attempts": entry.attempts = Int(value) ?? -1
    case "unsent":
      entry.unsent = Int(value) ?? -1
      if entry.state == .waiting { entry.attempts = 0 }
    case "conflicts": entry.conflicts = Int(value) ?? -1
    case "first": entry.firstAttemptAt = OutcomePage.now + seconds
    case "submitted": entry.submittedAt = OutcomePage.now + seconds
    case "window": entry.idempotencyWindow = seconds
    default:
      guard let state = OutboxEntry.State(rawValue: name) else { return false }
      entry.state = state
    }
    return true
  }

  /// Applies an event, and returns its consequences in the words of the page.
  mutating func apply(_ event: String) throws -> Set<String> {
    let now = OutcomePage.now
    switch event {
    case "turn":
      switch entry.beginning(at: now, limits) {
      case .send: entry.begin(at: now)
      case .expired: return ["expired"]
      case .unresolved: return ["unresolved"]
      }
    case "restart": entry.abandon()
    case "retry": entry.retry(at: now, keepsRequest: false, newKey: limits.newKey)
    case "retry, request kept": entry.retry(at: now, keepsRequest: true, newKey: limits.newKey)
    default:
      let (outcome, status) = try outcome(of: event)
      let consequence = entry.end(outcome, status: status, reason: "", at: now, limits, random: 1)
      return [entry.state.rawValue, Self.word(consequence)]
    }
    return [entry.state.rawValue]
  }

  private func outcome(of event: String) throws -> (SendOutcome, Int?) {
    let part = OutcomePage.parts(event).first
    switch part?.name {
    case "accepted": return (.accepted, 200)
    case "refused": return (.refused, 422)
    case "conflict": return (.conflict, 412)
    case "later": return (.later(after: part.flatMap { Int($0.value) }.map { .seconds($0) }), 503)
    case "unsent": return (.unsent, nil)
    case "sign in": return (.signIn, 401)
    case "unknown": return (.unknown, nil)
    case "diverted": return (.diverted, nil)
    default:
      guard let status = Int(event) else { throw UnknownCell(text: event) }
      let attempt = SendOutcome.Attempt(
        number: entry.attempts, isKeyed: entry.request?.isKeyed == true,
        hasIfMatch: entry.request?.fields.contains { $0.name == "If-Match" } == true)
      let response = HTTPResponse(status: .init(code: status))
      return (SendOutcome(.success(response), of: attempt, now: OutcomePage.now), status)
    }
  }

  private static func word(_ consequence: OutboxEntry.Consequence) -> String {
    switch consequence {
    case .ended: "ends"
    case .again: "again"
    case .rebase: "rebases"
    case .asks: "asks"
    case .signIn: "signs in"
    }
  }

  /// Returns the words of the page for the part of the entry that a word of the page is about.
  func words(like name: String) throws -> Set<String> {
    switch name {
    case "attempts": ["attempts: \(entry.attempts)"]
    case "unsent": ["unsent: \(entry.unsent)"]
    case "conflicts": ["conflicts: \(entry.conflicts)"]
    case "first": ["first: \(time(entry.firstAttemptAt))"]
    case "submitted": ["submitted: \(time(entry.submittedAt))"]
    case "wait", "no wait": [entry.notBefore.map { _ in "wait: \(time(entry.notBefore))" } ?? "no wait"]
    case "in doubt", "no doubt": [entry.isInDoubt ? "in doubt" : "no doubt"]
    case "outcome", "no outcome": [entry.outcome.map { "outcome: \($0.kind.rawValue)" } ?? "no outcome"]
    case "same key", "new key", "no key":
      [entry.idempotencyKey == nil ? "no key" : entry.idempotencyKey == before.idempotencyKey ? "same key" : "new key"]
    case "same request", "no request":
      [entry.request == nil ? "no request" : entry.request == before.request ? "same request" : "another request"]
    default: throw UnknownCell(text: name)
    }
  }

  private func time(_ date: Date?) -> String {
    guard let seconds = date?.timeIntervalSince(OutcomePage.now) else { return "none" }
    return seconds == seconds.rounded() ? "\(Int(seconds))" : "\(seconds)"
  }
}
