import Foundation
import HTTPTypes
import ReactorCore

/// The entries as the program sees them.
extension OutboxState {
  /// Returns the entries for the program.
  func list(_ conditions: OutboxQueue.Conditions, secretNames: Set<String>) -> [Outbox.Entry] {
    // Entries are large, so this sorts small values with their numbers.
    enum Place {
      case readable(Dictionary<UUID, OutboxEntry>.Index)
      case unreadable(Dictionary<UUID, Unreadable>.Index)
    }
    let entries = queue.entries
    var places: [(number: UInt64, place: Place)] = []
    places.reserveCapacity(entries.count + unreadable.count)
    for index in entries.indices where entries.values[index].state != .accepted {
      places.append((entries.values[index].number, .readable(index)))
    }
    for index in unreadable.indices { places.append((unreadable.values[index].stored.number, .unreadable(index))) }
    places.sort { $0.number < $1.number }
    return places.map { _, place in
      switch place {
      case .readable(let index): Outbox.Entry(entries.values[index], items, queue, conditions, secretNames)
      case .unreadable(let index): Outbox.Entry(unreadable.values[index], secretNames)
      }
    }
  }

  /// The ids of the entries, in an order that is the same in every run.
  var idsInOrder: [UUID] { ids { _ in true } }

  private func ids(where isMeant: (Item) -> Bool) -> [UUID] {
    var places: [(number: UInt64, id: UUID)] = []
    for index in items.indices where isMeant(items.values[index]) {
      let id = items.keys[index]
      places.append((queue.entries[id]?.number ?? 0, id))
    }
    // Ids are compared as text only if two numbers are equal, since making the text takes a
    // microsecond.
    places.sort { $0.number == $1.number ? $0.id.uuidString < $1.id.uuidString : $0.number < $1.number }
    return places.map(\.id)
  }

  /// Returns a part of the items that have it, in the order of ``idsInOrder``. Code that cancels or
  /// resumes tasks iterates over these, never over the dictionary.
  func inOrder<Part>(_ part: (Item) -> Part?) -> [Part] {
    ids { part($0) != nil }.compactMap { items[$0].flatMap(part) }
  }
}
