package import Foundation
package import ReactorCore

/// The entries as an inspector shows them, and its commands.
extension Outbox: InspectedWrites {
  package var writes: [WriteStatus] {
    let summaries = withState { $0.unreadable.compactMapValues(\.summary) }
    return entries.map { WriteStatus($0, summary: summaries[$0.id]) }
  }

  package var writesVersion: UInt64 { withState(\.version) }

  package func perform(_ command: WriteStatus.Command, onWrite id: UUID) async -> Bool {
    switch command {
    case .retry: await retry(id)
    case .discard: await discard(id)
    case .withdraw: await withdraw(id)
    }
  }
}

extension WriteStatus {
  /// - Parameter summary: The reason why the entry cannot be read, without a part of its mutation.
  fileprivate init(_ entry: Outbox.Entry, summary: String?) {
    self.init(id: entry.id, lane: entry.lane.rawValue, name: entry.name, state: State(entry.state))
    attempts = entry.attempts
    method = entry.method?.rawValue
    url = entry.url
    status = entry.status
    submittedAt = entry.submittedAt == .distantPast ? nil : entry.submittedAt
    switch entry.state {
    case .waiting(let reason):
      (self.reason, until) = (reason.text, reason.until)
      // Part of an entry with attempts may have been sent.
      if attempts == 0 { commands = [.withdraw] }
    case .unknown(let reason): (self.reason, until) = (reason.text, reason.until)
    case .sending: break
    case .conflicted:
      reason = "the value has changed on the server; waits for a decision"
      commands = [.retry, .discard]
    case .refused(let error):
      self.error = error
      commands = [.retry, .discard]
    case .unresolved:
      reason = "the server may have carried it out; it is not sent again by itself"
      commands = [.retry, .discard]
    case .unreadable(let text):
      reason = summary ?? text
      commands = [.discard]
    }
  }
}

extension WriteStatus.State {
  fileprivate init(_ state: Outbox.Entry.State) {
    self =
      switch state {
      case .waiting: .waiting
      case .sending: .sending
      case .unknown: .unknown
      case .conflicted: .conflicted
      case .refused: .refused
      case .unresolved: .unresolved
      case .unreadable: .unreadable
      }
  }
}

extension Outbox.Entry.Reason {
  /// The reason in words, without the time of ``until``.
  fileprivate var text: String {
    switch self {
    case .turn: "waits for its turn"
    case .connectivity: "waits for connectivity"
    case .backoff: "tries again"
    case .paused: "paused"
    case .signIn: "waits for a sign-in"
    case .stopped: "stopped"
    case .identity(let owner): "waits for the id of \(owner.uuidString.prefix(8))"
    }
  }

  fileprivate var until: Date? {
    if case .backoff(let date) = self { date } else { nil }
  }
}

extension MutationError {
  /// The error without any part of the mutation; `nil` if its description has none.
  var summary: String? {
    // The reason may quote a value.
    if case .notCodable(let name, _) = self { "the mutation \(name) cannot be encoded or decoded" } else { nil }
  }
}
