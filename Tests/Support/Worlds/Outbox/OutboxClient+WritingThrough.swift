import Foundation
import ReactorConformance
import ReactorCore
import ReactorOutbox
import ReactorTesting

extension OutboxClient {
  func beforeSaving(_ board: Board, _ path: String) async {
    if traits.writesThrough, board.version < 0 { await writeThrough(path) }
    if traits.leaves { try? await world.clock.sleep(for: stepDraws.duration(upTo: .seconds(4))) }
  }

  /// Adds a card to the board whose local value is being saved, and awaits that: the step and the
  /// write need the same key.
  private func writeThrough(_ path: String) async {
    guard BoardServer.paths.contains(path) else { return }
    let mark = book.nextMark()
    let errand = Errand(
      mark: mark, owner: owner, kind: .add, board: path, card: book.newCard(), title: "title \(mark)",
      lane: "through", price: Price(of: mark))
    let submission: Submission<Card>
    do {
      submission = try await submitting(errand) { try await layer.submit(AddCard(errand: errand)) }
      if !hasEnded, let id = book.record(of: mark)?.id { book.change(id) { $0.isAcknowledged = true } }
    } catch {
      book.note("client \(number): \(mark) is not saved: \(error)")
      if let id = book.record(of: mark)?.id { book.notSaved(id, in: number) }
      return
    }
    let isAnswered = await withTaskGroup(of: Bool.self) { group in
      group.addTask { (try? await submission.answer()) != nil || !Task.isCancelled }
      group.addTask { [clock = world.clock] in
        try? await clock.sleep(for: .seconds(60))
        return false
      }
      defer { group.cancelAll() }
      return await group.next() == true
    }
    let isLate = book.record(submission.id)?.acceptedAt.map { $0 + .seconds(30) < world.clock.now.elapsed } ?? false
    world.check(isAnswered || !isLate || hasEnded, "a step waits for \(errand), which was accepted long ago")
  }
}
