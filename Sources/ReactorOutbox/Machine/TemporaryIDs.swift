import Foundation
import ReactorCore

/// The temporary ids in the entries of an outbox: which entry supplies each of them, and which
/// entries wait for it.
///
/// The entry with the lowest number that holds an id as a string supplies it, in whatever order the
/// entries are added. An entry that has waited for an id never supplies it, in any process, since
/// ``OutboxEntry/awaited`` is saved with it. So two entries never wait for each other.
struct TemporaryIDs: Sendable {
  /// The ids in an entry.
  private struct Mention: Sendable {
    var number: UInt64
    var isInLane: Bool
    var found: Occurrences
    /// The ids that the entry supplies.
    var given: Set<String> = []
    /// The ids that another entry supplies or supplied.
    var awaited: Set<String> = []
  }

  private var mentions: [UUID: Mention] = [:]
  /// The entries that supply an id.
  private var owners: [String: UUID] = [:]
  /// The ids that an entry supplies, by hash. Two ids collide once in 10¹⁵ pairs.
  private var given: [Int64: Set<String>] = [:]
  /// The ids that an accepted entry should have supplied but did not, because its response could
  /// not be read.
  private var lost: Set<String> = []
  private var entriesByString: [String: Set<UUID>] = [:]
  private var entriesByNumber: [Int64: Set<UUID>] = [:]

  /// A Boolean value that indicates whether no known entry has an id.
  var isEmpty: Bool {
    mentions.isEmpty && owners.isEmpty && given.isEmpty && entriesByString.isEmpty && entriesByNumber.isEmpty
  }

  /// Records the ids of an entry, or updates them after a change.
  ///
  /// An entry supplies its ids while it is in its lane or unresolved, and after any other outcome
  /// until ``release(_:)``: entries that wait for them are sent only with the server's id, or
  /// refused. A finished entry that is recorded for the first time supplies none.
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
    // Another process knew which entry should supply the id.
    for string in found.strings.filter(entry.wasRefused(forLackOf:)) {
      giveUp(string, entry.id)
      mention.given.remove(string)
      mention.awaited.insert(string)
    }
    if !lost.isEmpty, mention.isInLane {
      // An entry that contains one of these ids can never be resolved, even if the entry that
      // should supply it is known.
      mention.awaited.formUnion(lost.filter { found.holds($0) && owners[$0] == nil })
    }
    mentions[entry.id] = mention
    guard entry.isInLane || entry.state == .unresolved else { return }
    for string in found.strings { claim(string, entry.id, mention) }
    let awaited = awaited(by: found, of: entry.id)
    mentions[entry.id]?.awaited.formUnion(awaited)
  }

  /// Returns the ids in a new entry that other entries supply now. The entry waits for them and
  /// never supplies them, even if the others finish first.
  func awaited(byNew entry: OutboxEntry) -> Set<String> {
    let found = Occurrences(in: entry.arguments)
    guard !found.isEmpty else { return [] }
    let given = found.strings.filter { owners[$0] != nil || isBeingSaved($0) }
    return awaited(by: found, of: entry.id).union(given).union(lost.filter(found.holds))
  }

  /// Records the ids of an entry that is being saved, and the ids that it waits for.
  mutating func expect(_ entry: OutboxEntry) {
    let found = Occurrences(in: entry.arguments)
    guard !found.isEmpty else { return }
    let awaited = awaited(byNew: entry).union(entry.awaited)
    addToIndex(entry.id, found)
    mentions[entry.id] = Mention(number: .max, isInLane: false, found: found, awaited: awaited)
  }

  /// Returns `true` if an entry that contains an id is being saved. That entry supplies the id, or
  /// waits for it.
  private func isBeingSaved(_ temporary: String) -> Bool {
    entriesByString[temporary]?.contains { mentions[$0]?.number == .max } == true
  }

  /// Returns the ids of other entries whose number an entry contains.
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

  /// Withdraws an id that an entry was to supply.
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

  /// Withdraws the ids of an entry that finished without them. Other entries no longer wait for
  /// them. The entry still receives ids of others.
  mutating func release(_ id: UUID) {
    for string in mentions[id]?.given ?? [] { giveUp(string, id) }
  }

  /// Forgets an entry that was accepted. Its ids that are not in `known` will never arrive.
  mutating func settle(_ id: UUID, _ known: [String: Data]) {
    lost.formUnion(idsToLose(of: id, known))
    forget(id)
  }

  /// Returns the ids that will never be known if the entry is accepted now: the ids that it
  /// supplies and that are not in `known`.
  func idsToLose(of id: UUID, _ known: [String: Data]) -> [String] {
    mentions[id]?.given.filter { known[$0] == nil }.sorted() ?? []
  }

  /// Records that no entry will ever supply these ids. Entries that contain one can never be sent.
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

  /// Records that the ids in an entry of an earlier process will never arrive, since it was
  /// accepted without them.
  mutating func lose(idsIn entry: OutboxEntry) { lost.formUnion(Occurrences(in: entry.arguments).strings) }

  /// Forgets an entry. Entries that wait for its ids stop waiting.
  mutating func forget(_ id: UUID) {
    release(id)
    if let mention = mentions.removeValue(forKey: id) { removeFromIndex(id, mention.found) }
  }
}

extension TemporaryIDs {
  /// Returns the entry whose id `id` waits for; the earliest of several; `nil` if it waits for no
  /// entry.
  func owner(awaitedBy id: UUID) -> UUID? {
    guard let mention = mentions[id] else { return nil }
    var candidates = mention.found.strings.compactMap { owners[$0] }
    for number in mention.found.numbers {
      let owners = (given[number] ?? []).compactMap { self.owners[$0] }
      // The hash belongs to an id that the entry itself supplies.
      if !owners.contains(id) { candidates += owners }
    }
    return candidates.filter { $0 != id }.min { (mentions[$0]?.number ?? 0) < (mentions[$1]?.number ?? 0) }
  }

  /// Returns `true` if an entry contains an id, or should have supplied it.
  func holds(_ temporary: String) -> Bool { entriesByString[temporary] != nil || lost.contains(temporary) }

  /// Returns `true` if no entry will ever supply an id, since the one that should have was accepted
  /// without it.
  func isLost(_ temporary: String) -> Bool { lost.contains(temporary) }

  /// Returns `true` if an entry waits for an id of an entry behind it, which was retried while
  /// another process submitted this one. The entry is sent after the other, and blocks nothing
  /// until then.
  func isBehindItsGiver(_ id: UUID) -> Bool {
    guard let owner = owner(awaitedBy: id), let creator = mentions[owner], let own = mentions[id] else { return false }
    return creator.number > own.number
  }

  /// Returns an id that the entry contains and that no entry can supply any more; `nil` if all its
  /// ids can still arrive.
  func missingID(in id: UUID) -> String? {
    mentions[id]?.awaited.filter { owners[$0] == nil }.min()
  }

  /// Returns the waiting entries that contain an id from the entry `id` that is not in `known`.
  func holders(ofIDsOf id: UUID, except known: [String: Data] = [:]) -> Set<UUID> {
    let given = mentions[id]?.given.filter { known[$0] == nil } ?? []
    let holders = given.reduce(into: Set<UUID>()) { holders, string in
      holders.formUnion(entriesByString[string] ?? [])
      holders.formUnion(entriesByNumber[TemporaryID.number64(of: string)] ?? [])
    }
    return holders.filter { $0 != id && mentions[$0]?.isInLane == true }
  }

  /// Returns the entries that contain `temporary`, including refused ones.
  ///
  /// Leaves out entries that contain only a number that another id has as well, since the number
  /// does not say which id is meant.
  func holders(of temporary: String) -> Set<UUID> {
    let number = TemporaryID.number64(of: temporary)
    let strings = entriesByString[temporary] ?? []
    guard (given[number] ?? []).isSubset(of: [temporary]) else { return strings }
    return strings.union(entriesByNumber[number] ?? [])
  }

  /// The first of the ids that an entry supplies, for a message.
  func firstID(ofIDsOf id: UUID) -> String? { mentions[id]?.given.min() }
}
