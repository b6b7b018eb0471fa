import Foundation
import ReactorCore

/// The temporary ids in the entries of an outbox: which entry gives each of them, and which wait
/// for it.
///
/// The entry with the lowest number that holds an id as a string is the one that gives it, in
/// whatever order they are noted. An entry that has waited for an id never gives it, in any
/// process: ``OutboxEntry/awaited`` is saved with it. So no two wait for each other.
struct TemporaryIDs: Sendable {
  /// The ids in an entry.
  private struct Mention: Sendable {
    var number: UInt64
    var isInLane: Bool
    var found: Occurrences
    /// The ids that the entry gives.
    var given: Set<String> = []
    /// The ids that another entry gives, or gave.
    var awaited: Set<String> = []
  }

  private var mentions: [UUID: Mention] = [:]
  /// The entries that give an id.
  private var owners: [String: UUID] = [:]
  /// The ids that an entry gives, by hash. Two ids collide once in 10¹⁵ pairs.
  private var given: [Int64: Set<String>] = [:]
  /// The ids that an accepted entry was to give, and has not: its response could not be read.
  private var lost: Set<String> = []
  private var entriesByString: [String: Set<UUID>] = [:]
  private var entriesByNumber: [Int64: Set<UUID>] = [:]

  /// A Boolean value that indicates whether no entry with an id is known.
  var isEmpty: Bool {
    mentions.isEmpty && owners.isEmpty && given.isEmpty && entriesByString.isEmpty && entriesByNumber.isEmpty
  }

  /// Notes the ids of an entry, or notes them anew after a change.
  ///
  /// An entry gives its ids while it is in its lane or unresolved, and after another end until
  /// ``release(_:)``: nothing that waits for them goes before it has the server's id or is refused.
  /// An entry that has ended and is noted for the first time gives none.
  mutating func note(_ entry: OutboxEntry) {
    guard entry.state != .accepted || mentions[entry.id] != nil else { return }
    let found = Occurrences(in: entry.arguments)
    let old = mentions[entry.id]
    guard !found.isEmpty || old != nil else { return }
    if let old { removeFromIndex(entry.id, old.found) }
    for string in old?.given.subtracting(found.strings) ?? [] { giveUp(string, entry.id) }
    guard !found.isEmpty else { return mentions[entry.id] = nil }
    addToIndex(entry.id, found)
    var mention = Mention(number: entry.number, isInLane: entry.isInLane, found: found)
    mention.given = old?.given.intersection(found.strings) ?? []
    mention.awaited = (old?.awaited ?? []).union(entry.awaited).filter(found.holds)
    // Another process has known who was to give the id.
    for string in found.strings.filter(entry.wasRefused(forLackOf:)) {
      giveUp(string, entry.id)
      mention.given.remove(string)
      mention.awaited.insert(string)
    }
    if !lost.isEmpty, mention.isInLane {
      // An entry that contains one of these ids can never be resolved, even if its giver is known.
      mention.awaited.formUnion(lost.filter { found.holds($0) && owners[$0] == nil })
    }
    mentions[entry.id] = mention
    guard entry.isInLane || entry.state == .unresolved else { return }
    for string in found.strings { claim(string, entry.id, mention) }
    let awaited = awaited(by: found, of: entry.id)
    mentions[entry.id]?.awaited.formUnion(awaited)
  }

  /// Returns the ids in a new entry that others give at this moment. It waits for them, and never
  /// gives them: also if their end comes first.
  func awaited(byNew entry: OutboxEntry) -> Set<String> {
    let found = Occurrences(in: entry.arguments)
    guard !found.isEmpty else { return [] }
    let given = found.strings.filter { owners[$0] != nil || isBeingSaved($0) }
    return awaited(by: found, of: entry.id).union(given).union(lost.filter(found.holds))
  }

  /// Notes the ids of an entry that is being saved, with those that it waits for.
  mutating func expect(_ entry: OutboxEntry) {
    let found = Occurrences(in: entry.arguments)
    guard !found.isEmpty else { return }
    let awaited = awaited(byNew: entry).union(entry.awaited)
    addToIndex(entry.id, found)
    mentions[entry.id] = Mention(number: .max, isInLane: false, found: found, awaited: awaited)
  }

  /// Returns `true` if an entry that holds an id is being saved. It gives the id, or waits for it.
  private func isBeingSaved(_ temporary: String) -> Bool {
    entriesByString[temporary]?.contains { mentions[$0]?.number == .max } == true
  }

  /// Returns the ids of other entries of which an entry holds the number.
  private func awaited(by found: Occurrences, of id: UUID) -> Set<String> {
    found.numbers.reduce(into: []) { awaited, number in
      guard let strings = given[number], !strings.contains(where: { owners[$0] == id }) else { return }
      awaited.formUnion(strings)
    }
  }

  private mutating func claim(_ string: String, _ id: UUID, _ mention: Mention) {
    guard owners[string] != id, !mention.awaited.contains(string) else { return }
    if let owner = owners[string], let other = mentions[owner] {
      guard mention.number < other.number else {
        mentions[id]?.awaited.insert(string)
        return
      }
      giveUp(string, owner)
      mentions[owner]?.awaited.insert(string)
    }
    owners[string] = id
    mentions[id]?.given.insert(string)
    given[TemporaryID.number64(of: string), default: []].insert(string)
  }

  /// Withdraws an id that an entry was to give.
  private mutating func giveUp(_ string: String, _ id: UUID) {
    guard owners[string] == id else { return }
    owners[string] = nil
    mentions[id]?.given.remove(string)
    let number = TemporaryID.number64(of: string)
    given[number]?.remove(string)
    if given[number]?.isEmpty == true { given[number] = nil }
  }

  private mutating func addToIndex(_ id: UUID, _ found: Occurrences) {
    for string in found.strings { entriesByString[string, default: []].insert(id) }
    for number in found.numbers { entriesByNumber[number, default: []].insert(id) }
  }

  private mutating func removeFromIndex(_ id: UUID, _ found: Occurrences) {
    for string in found.strings {
      entriesByString[string]?.remove(id)
      if entriesByString[string]?.isEmpty == true { entriesByString[string] = nil }
    }
    for number in found.numbers {
      entriesByNumber[number]?.remove(id)
      if entriesByNumber[number]?.isEmpty == true { entriesByNumber[number] = nil }
    }
  }

  /// Withdraws the ids of an entry that has ended without them. Entries no longer wait for them.
  /// The entry still gets the ids of others.
  mutating func release(_ id: UUID) {
    for string in mentions[id]?.given ?? [] { giveUp(string, id) }
  }

  /// Forgets an entry that was accepted. Those of its ids that are not `known` are never given.
  mutating func settle(_ id: UUID, _ known: [String: Data]) {
    lost.formUnion(idsToLose(of: id, known))
    forget(id)
  }

  /// Returns the ids of an entry that are never given if it is accepted now: those that it gives,
  /// and that are not `known`.
  func idsToLose(of id: UUID, _ known: [String: Data]) -> [String] {
    mentions[id]?.given.filter { known[$0] == nil }.sorted() ?? []
  }

  /// Notes that nobody will ever give these ids. Entries that hold one wait for it in vain.
  mutating func lose(_ temporaries: [String]) {
    for temporary in temporaries where lost.insert(temporary).inserted {
      if let owner = owners[temporary] { giveUp(temporary, owner) }
      let holders = (entriesByString[temporary] ?? [])
        .union(entriesByNumber[TemporaryID.number64(of: temporary)] ?? [])
      for holder in holders where mentions[holder]?.isInLane == true || mentions[holder]?.number == .max {
        mentions[holder]?.awaited.insert(temporary)
      }
    }
  }

  /// Notes that the ids in an entry of an earlier process are never given: it was accepted without.
  mutating func lose(idsIn entry: OutboxEntry) { lost.formUnion(Occurrences(in: entry.arguments).strings) }

  /// Forgets an entry. Those that wait for its ids wait no longer.
  mutating func forget(_ id: UUID) {
    release(id)
    if let mention = mentions.removeValue(forKey: id) { removeFromIndex(id, mention.found) }
  }
}

extension TemporaryIDs {
  /// Returns the entry whose id `id` waits for; the earliest if there are several, `nil` if it
  /// waits for none.
  func owner(awaitedBy id: UUID) -> UUID? {
    guard let mention = mentions[id] else { return nil }
    var candidates = mention.found.strings.compactMap { owners[$0] }
    for number in mention.found.numbers {
      let owners = (given[number] ?? []).compactMap { self.owners[$0] }
      // The hash of an id that the entry itself gives.
      if !owners.contains(id) { candidates += owners }
    }
    return candidates.filter { $0 != id }.min { (mentions[$0]?.number ?? 0) < (mentions[$1]?.number ?? 0) }
  }

  /// Returns `true` if an entry waits for one that is behind it: its giver was sent again, and
  /// another process has submitted it meanwhile. It goes after its giver, and blocks no other
  /// entry.
  func isBehindItsGiver(_ id: UUID) -> Bool {
    guard let owner = owner(awaitedBy: id), let giver = mentions[owner], let own = mentions[id] else { return false }
    return giver.number > own.number
  }

  /// Returns an id that an entry holds and that no entry gives any more, as one that has ended
  /// without it; `nil` if there is none.
  func missingID(in id: UUID) -> String? {
    mentions[id]?.awaited.filter { owners[$0] == nil }.min()
  }

  /// Returns the entries that are to be sent, and hold an id that `id` gives and that is not in
  /// `known`.
  func holders(ofIDsOf id: UUID, except known: [String: Data] = [:]) -> Set<UUID> {
    let given = mentions[id]?.given.filter { known[$0] == nil } ?? []
    let holders = given.reduce(into: Set<UUID>()) { holders, string in
      holders.formUnion(entriesByString[string] ?? [])
      holders.formUnion(entriesByNumber[TemporaryID.number64(of: string)] ?? [])
    }
    return holders.filter { $0 != id && mentions[$0]?.isInLane == true }
  }

  /// Returns the entries that hold `temporary`, refused ones too.
  ///
  /// Those that hold only a number that stands for another id as well are left out: nothing says
  /// which of the two they mean.
  func holders(of temporary: String) -> Set<UUID> {
    let number = TemporaryID.number64(of: temporary)
    let strings = entriesByString[temporary] ?? []
    guard (given[number] ?? []).isSubset(of: [temporary]) else { return strings }
    return strings.union(entriesByNumber[number] ?? [])
  }

  /// The first of the ids that an entry gives, for a message.
  func firstID(ofIDsOf id: UUID) -> String? { mentions[id]?.given.min() }
}
