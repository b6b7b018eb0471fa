import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorOutbox
import ReactorTesting

/// Compares the values that a process shows with the drafts of its entries, one after the other,
/// over the server's values.
extension OutboxReference {
  /// Judges a value with the entries whose drafts it shows.
  ///
  /// - Parameters:
  ///   - drafts: the drafts that the value is said to show; `nil` for a value that was read at this
  ///     very moment.
  ///   - before: what was so before the value was made.
  func judge(_ shown: Board?, drafts: [UUID]?, at path: String, in client: Int, before: View?, _ who: String) {
    // Of two processes, each learns late what the other has added, moved and ended, at an unknown
    // time. What they send is judged.
    guard !traits.isShared else { return }
    guard let view = view(client), view.isReady, view.removals == 0, !view.hasFailedToRemove else { return }
    // The record on disk is older then, and its date may be later than the value's.
    guard !traits.setsClock || !view.failedSaves.contains(path) else { return }
    if let before { guard before.isReady, before.removalsBegun == view.removalsBegun else { return } }
    let pending = view.pending(at: path)
    // Their places are known when a state names them.
    if drafts == nil, pending.contains(where: view.moved.contains) { return }
    if let drafts { judge(drafts, pending, view, before ?? view, path, who) }
    guard let shown else { return }
    var base: Base?
    if shown.version != 0 {
      base = self.base(shown.version, at: path)
      // A process that has ended may save a response even now. A process that loads it cannot tell
      // which drafts are in it.
      if self.server.wasSent(shown.version, of: path, toOthersThan: client, after: view.begun) { base?.since = .zero }
      if wasWrittenBack(shown.version, at: path, in: client) { base?.isMissing = { _ in false } }
      guard base != nil else { return world.check(false, "\(who): the server never had \(shown)") }
    }
    let order = drafts ?? pending
    let accepted = view.accepted.compactMap { id -> Accepted? in
      guard case .accepted(let errand?, let time) = view.phases[id], errand.paths.contains(path), !order.contains(id)
      else { return nil }
      let isUncertain = view.uncertain.contains(id)
      let version = isUncertain ? 0 : self.server.applications(of: errand.mark).first?.versions[path] ?? 0
      return Accepted(id: id, errand: errand, time: time, version: version, isUncertain: isUncertain)
    }
    // It is unknown when another process saw the outcome, and which of the drafts a base has by
    // then.
    guard !accepted.contains(where: \.isUncertain) else { return }
    // The ids that the process has learned since the value was made may be in it or not.
    let least = drafts == nil ? view.identities.count : before?.identities.count ?? 0
    var expected: [String] = []
    for progress in view.progress(from: least, order.count) {
      let errands = order.enumerated().compactMap { view.errand($1, upTo: progress.count(for: $1, at: $0, view)) }
      guard errands.count == order.count else { return world.check(false, "\(who): nobody knows one of the drafts") }
      // A state that waits to be read may be older than what was judged since.
      // A state that was made before they were submitted is read after they were accepted.
      let known = before.map { before in accepted.filter { before.phases[$0.id] != nil } } ?? accepted
      var start = before ?? view
      start.failedSaves.formUnion(view.failedSaves)
      var matched = match(shown, base, accepted, errands, start, path)
      if case .failure = matched, known.count < accepted.count {
        matched = match(shown, base, known, errands, start, path)
      }
      switch matched {
      case .success(let dropped):
        guard shown.version > 0 else { return }
        return changeView(client) { view in
          guard shown.version >= view.dropped[path]?.version ?? 0 else { return }
          view.dropped[path] = (shown.version, (view.dropped[path]?.ids ?? []).union(dropped))
        }
      case .failure(let text): expected.append(text.description)
      }
    }
    world.check(
      false, "\(who): \(path) shows \(shown.cards.map(\.text)) over version \(shown.version), not \(expected[0])")
  }

  private struct Mismatch: Error, CustomStringConvertible {
    var description: String
  }

  private struct Accepted {
    var id: UUID
    var errand: Errand
    var time: Duration
    /// The server's version that first had it.
    var version: Int
    var isUncertain: Bool
  }

  /// A value without drafts.
  private struct Base {
    var board: Board
    /// No accepted draft from before is shown over it.
    var since: Duration
    /// Each accepted draft from this version or time on is.
    var isMissing: (Accepted) -> Bool
  }

  private func base(_ version: Int, at path: String) -> Base? {
    if version < 0 {
      guard let saved = saved(version, at: path) else { return nil }
      let ended = saved.ended ?? .never
      return Base(board: saved.board, since: saved.begun) { $0.time > ended }
    }
    guard let known = server.version(version, of: path) else { return nil }
    return Base(board: known.board, since: known.since) { $0.version > version }
  }

  /// A process that has ended may mark a record as stale even now, after a write of its own, and so
  /// write it back over the newer record that this process has stored meanwhile. The drafts that
  /// went when the newer one came are in neither then.
  private func wasWrittenBack(_ version: Int, at path: String, in client: Int) -> Bool {
    guard server.hasSentNewer(than: version, of: path, to: client), let view = view(client) else { return false }
    // The record is read and written.
    let since = view.begun - world.currentFaults.diskLatency * 2
    return views(except: client).contains { other in
      other.owner == view.owner
        && other.phases.values.contains { phase in
          guard case .accepted(let errand?, let time) = phase else { return false }
          return errand.paths.contains(path) && time >= since
        }
    }
  }

  /// The accepted drafts that are still shown are the last of them, as many as it may be.
  ///
  /// - Returns: the drafts that are not shown.
  private func match(
    _ shown: Board, _ base: Base?, _ accepted: [Accepted], _ pending: [Errand], _ view: View, _ path: String
  ) -> Result<[UUID], Mismatch> {
    let first = base.flatMap { base in accepted.firstIndex(where: base.isMissing) } ?? accepted.count
    let least = base == nil ? 0 : accepted.count - first
    var most = base.map { base in accepted.count { $0.time >= base.since } } ?? accepted.count
    if view.failedSaves.contains(path) {
      most = accepted.count
    } else if let dropped = view.dropped[path], shown.version >= dropped.version, shown.version > 0 {
      most = min(most, accepted.count { !dropped.ids.contains($0.id) })
    }
    for count in (least...max(least, most)).reversed() {
      let errands = accepted.suffix(count).map(\.errand) + pending
      guard errands.reduce(base?.board, { $1.drawn(over: $0, at: path) }) == shown else { continue }
      return .success(accepted.dropLast(count).map(\.id))
    }
    let expected = (accepted.suffix(least).map(\.errand) + pending).reduce(base?.board) { $1.drawn(over: $0, at: path) }
    return .failure(
      Mismatch(
        description:
          "\(expected?.cards.map(\.text) ?? []) with \(least)...\(most) of the accepted \(accepted.map(\.errand)) and the pending \(pending)"
      ))
  }

  /// The drafts that a state names are those of the entries that have not ended, in the order of
  /// their submission.
  private func judge(_ drafts: [UUID], _ pending: [UUID], _ view: View, _ before: View, _ path: String, _ who: String) {
    for id in drafts {
      switch before.phases[id] {
      case .gone, .accepted:
        // It was sent again meanwhile.
        guard before.places[id] == view.places[id], !view.moved.contains(id) else { continue }
        world.check(false, "\(who): \(path) shows the draft of \(name(id)), which has ended")
      case .submitting, .pending, nil: break
      }
    }
    for id in pending where !drafts.contains(id) {
      guard case .pending = before.phases[id], before.places[id] == view.places[id] else { continue }
      world.check(false, "\(who): \(path) does not show the draft of \(name(id)), which is pending")
    }
    // Each is where it was, or where it was put since.
    var last = 0
    let isSorted = drafts.filter { !view.moved.contains($0) }.allSatisfy { id in
      let place = [before.places[id], view.places[id]].compactMap(\.self).filter { $0 > last }.min()
      last = place ?? last
      return place != nil
    }
    world.check(isSorted, "\(who): \(path) shows drafts in another order than that of submission: \(drafts.map(name))")
  }

  func name(_ id: UUID) -> String { record(id).map { "\($0.errand)" } ?? "\(id)" }
}

extension OutboxReference.View {
  /// Returns the id that the process knows for a temporary one.
  func id(of card: TemporaryID, upTo count: Int = .max) -> Int? {
    identities.prefix(count).first { $0.temporary == card }?.id
  }

  /// Returns an errand with the id that the process knows.
  func resolved(_ errand: Errand, upTo count: Int = .max) -> Errand {
    guard errand.card.isTemporary, let id = id(of: errand.card, upTo: count) else { return errand }
    var errand = errand
    errand.card = .named("\(id)")
    return errand
  }

  /// Returns the errand of an entry as its draft has it, with the first of the ids that the process
  /// has learned.
  func errand(_ id: UUID, upTo count: Int = .max) -> Errand? { errands[id].map { resolved($0, upTo: count) } }

  /// Each number of ids that drafts may have since a value was made: they are made again one after
  /// the other, and the value may be from between. An entry that is being saved gets its ids when
  /// it is.
  func progress(from least: Int, _ drafts: Int) -> [Progress] {
    let all = (least...identities.count).flatMap { before in
      (before...identities.count).flatMap { after in
        (before == after ? drafts...drafts : 1...max(1, drafts)).reversed().map {
          Progress(before: before, after: after, rewritten: $0)
        }
      }
    }
    return all.flatMap { [$0, Progress(before: $0.before, after: $0.after, rewritten: $0.rewritten, savesLate: true)] }
  }

  struct Progress {
    var before: Int
    var after: Int
    var rewritten: Int
    var savesLate = false

    func count(for id: UUID, at index: Int, _ view: OutboxReference.View) -> Int {
      if savesLate {
        switch view.phases[id] {
        // The value may be from before it was known that the entry could not be saved.
        case .submitting, .gone: return 0
        default: break
        }
      }
      return index < rewritten ? after : before
    }
  }

  /// The entries whose drafts are shown, in the order of submission.
  func pending(at path: String) -> [UUID] {
    phases.compactMap { id, phase in
      switch phase {
      case .submitting, .pending: errand(id)?.paths.contains(path) == true ? id : nil
      case .accepted, .gone: nil
      }
    }.sorted { places[$0] ?? 0 < places[$1] ?? 0 }
  }
}

extension Card {
  var text: String { "\(id)\(isDone ? "!" : "") \(title)" }
}
