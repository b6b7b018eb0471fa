/// Who waits for a flight, in the order of joining. Each is found by its number, so that thousands may come and go.
struct FlightParties: Sendable {
  private struct Place: Sendable {
    let order: UInt64
    var party: Flight.Party
  }

  private var places: [Flight.PartyID: Place] = [:]
  private var lastOrder: UInt64 = 0

  var isEmpty: Bool { places.isEmpty }
  var first: Flight.Party? { places.values.min { $0.order < $1.order }?.party }
  var inOrder: [Flight.Party] { places.values.sorted { $0.order < $1.order }.map(\.party) }

  /// The waits of those that work for an owner.
  var waits: [LockOwner.Wait] { places.values.compactMap(\.party.wait) }

  func contains(_ id: Flight.PartyID) -> Bool { places[id] != nil }

  mutating func append(_ party: Flight.Party) {
    lastOrder += 1
    places[party.id] = Place(order: lastOrder, party: party)
  }

  mutating func update(_ id: Flight.PartyID, _ change: (inout Flight.Party) -> Void) {
    guard var place = places[id] else { return }
    change(&place.party)
    places[id] = place
  }

  mutating func remove(_ id: Flight.PartyID) { places[id] = nil }
}
