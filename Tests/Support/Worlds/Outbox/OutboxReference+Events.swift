import Foundation
import ReactorConformance
import ReactorCore
import ReactorOutbox
import ReactorTesting

extension OutboxReference {
  /// Notes a line that may name files. Their directory is another one in each run, and a seed has
  /// one log.
  func note(_ line: @autoclosure () -> String) {
    world.note(files.map { line().replacing($0.directory.path(), with: "") } ?? line())
  }
}

/// The book hears the events of a process.
extension OutboxReference {
  /// - Parameter identity: returns the id that the process has for a temporary one.
  func heard(_ id: UUID, _ step: ReactorEvent.OutboxStep, in client: Int, identity: (TemporaryID) -> Int?) {
    note("client \(client): \(record(id).map { "\($0.errand.mark)" } ?? "?") \(step)")
    guard let record = record(id) else { return }
    let now = now
    let card = record.errand.card
    switch step {
    case .submitted:
      // It may have been refused, and be sent again.
      change(id) { $0.end = nil }
      changeView(client) { view in
        switch view.phases[id] {
        case .submitting: view.phases[id] = .pending
        case .accepted where !view.uncertain.contains(id): break
        // It was retried, or goes behind a retried entry.
        case .pending, .gone, .accepted, nil:
          view.uncertain.remove(id)
          view.numbers[id] = nil
          view.phases[id] = .pending
          // Its place was drawn before it was saved, and it is unknown whether what was submitted
          // meanwhile is behind it.
          if let last = view.retries.min(), last < view.lastPlace { view.moved.insert(id) }
          view.lastPlace += 1
          view.places[id] = view.lastPlace
        }
      }
    case .sending:
      changeView(client) { view in view.known[id] = Set(view.phases.filter { $0.value.isShown }.keys) }
    case .accepted:
      change(id) { record in
        (record.wasAccepted, record.end) = (true, "accepted")
        record.acceptedAt = record.acceptedAt ?? now
      }
      let known = record.errand.kind == .add ? identity(card) : nil
      if let known {
        let isOnce = server.applications(of: record.errand.mark).count < 2
        world.check(!isOnce || known == server.id(of: record.errand.mark), "the id of \(record.errand) is \(known)")
      }
      changeView(client) { view in
        if let known, view.id(of: card) == nil { view.identities.append((card, known)) }
        view.phases[id] = .accepted(view.errand(id), at: now)
        view.accept(id)
      }
    case .endedElsewhere:
      changeView(client) { view in
        if view.uncertain.contains(id) { return }
        if let known = identity(card), view.id(of: card) == nil { view.identities.append((card, known)) }
        view.phases[id] = .accepted(view.errand(id), at: now)
        view.accept(id)
        view.uncertain.insert(id)
      }
    case .discarded where view(client)?.isAccepted(id) == true:
      // Everything was removed, and perhaps not all of it: then the draft is shown still.
      changeView(client) { _ = $0.uncertain.insert(id) }
    case .refused, .unresolved, .withdrawn, .discarded, .unreadable:
      change(id) { $0.end = "\(step)" }
      changeView(client) { $0.phases[id] = .gone }
    default: break
    }
  }
}
