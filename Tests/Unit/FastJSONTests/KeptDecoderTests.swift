import Dispatch
import Foundation
import Synchronization
import Testing

@testable import FastJSON

private enum Keys: String, CodingKey { case id, name, list, inner }

/// A model that keeps the decoder it came from, and containers of each kind.
private final class Keeper: Decodable {
  let decoder: any Decoder
  let members: KeyedDecodingContainer<Keys>
  let inner: KeyedDecodingContainer<Keys>
  var list: any UnkeyedDecodingContainer
  let element: any Decoder

  init(from decoder: any Decoder) throws {
    self.decoder = decoder
    members = try decoder.container(keyedBy: Keys.self)
    inner = try members.nestedContainer(keyedBy: Keys.self, forKey: .inner)
    list = try members.nestedUnkeyedContainer(forKey: .list)
    var other = try members.nestedUnkeyedContainer(forKey: .list)
    element = try other.superDecoder()
  }

  /// Reads everything; the text was made by ``text(_:)``.
  func check(_ id: Int) throws {
    #expect(try members.decode(Int.self, forKey: .id) == id)
    #expect(try members.decode(String.self, forKey: .name) == "name \u{E9} \(id)")
    #expect(try inner.decode([String: [Int]].self, forKey: .list) == ["a": [id, id + 1]])
    #expect(try inner.decodeIfPresent(Int.self, forKey: .id) == nil)
    #expect(try members.decode([Int].self, forKey: .list) == [id, id + 1, id + 2])
    #expect(try element.singleValueContainer().decode(Int.self) == id)
    let root = try decoder.container(keyedBy: Keys.self)
    #expect(try root.nestedContainer(keyedBy: Keys.self, forKey: .inner).contains(.list))
    let expected = try decode(AnyJSON.self, Self.text(id))
    #expect(try AnyJSON(from: decoder) == expected)
    #expect(inner.codingPath.map(\.stringValue) == ["inner"])
    #expect(throws: DecodingError.self) { try inner.decode(Int.self, forKey: .name) }
  }

  static func text(_ id: Int) -> String {
    #"{"id":\#(id),"name":"name \u00e9 \#(id)","list":[\#(id),\#(id + 1),\#(id + 2)],"#
      + #""inner":{"list":{"a":[\#(id),\#(id + 1)]}}}"#
  }
}

/// Remembers which sessions read a text, without keeping them. Only one thread uses each;
/// `userInfo` asks for `Sendable`.
private final class Probe: @unchecked Sendable {
  static let key = CodingUserInfoKey(rawValue: "probe")
  weak var session: Session?
  var identifiers: [ObjectIdentifier] = []

  static func of(_ decoder: any Decoder) throws -> Probe {
    let key = try #require(Self.key)
    return try #require(decoder.userInfo[key] as? Probe)
  }

  func note(_ decoder: any Decoder) throws {
    let session = try #require(decoder as? TapeDecoder).session
    self.session = session
    identifiers.append(ObjectIdentifier(session))
  }
}

private struct Probed: Decodable {
  init(from decoder: any Decoder) throws {
    try Probe.of(decoder).note(decoder)
    let container = try decoder.container(keyedBy: Keys.self)
    if try container.decodeIfPresent(Bool.self, forKey: .id) == true { throw CancellationError() }
    _ = try container.decodeIfPresent(Probed.self, forKey: .inner)
  }
}

/// Keeps a container of an object, and is probed.
private final class ProbedKeeper: Decodable {
  let container: KeyedDecodingContainer<Keys>

  init(from decoder: any Decoder) throws {
    try Probe.of(decoder).note(decoder)
    container = try decoder.container(keyedBy: Keys.self)
  }
}

/// Keeps its decoder, and is probed.
private final class DecoderKeeper: Decodable {
  let decoder: any Decoder

  init(from decoder: any Decoder) throws {
    try Probe.of(decoder).note(decoder)
    self.decoder = decoder
  }
}

/// A decoder that is isolated from other tests' decoders.
private func probed(_ sessions: SessionPool = SessionPool(capacity: 4)) throws -> (
  decoder: FastJSONDecoder, probe: Probe
) {
  let (probe, key) = (Probe(), try #require(Probe.key))
  let decoder = FastJSONDecoder(sessions)
  decoder.userInfo = [key: probe]
  return (decoder, probe)
}

@Suite struct `Decoders and containers that a model keeps` {
  @Test func `a decoder that a model retains stays usable after the decoding`() throws {
    let decoder = FastJSONDecoder()
    let first = try decode(Keeper.self, Keeper.text(1), with: decoder)
    let others = try (2..<50).map { try decode(Keeper.self, Keeper.text($0), with: decoder) }
    for _ in 0..<20 { _ = try decode([AnyJSON].self, "[\(Keeper.text(7)),\"other\"]", with: decoder) }
    try first.check(1)
    for (index, other) in others.enumerated() { try other.check(index + 2) }
    try first.check(1)
  }

  @Test func `an array of them in one text stays usable`() throws {
    let text = "[" + (0..<300).map(Keeper.text).joined(separator: ",") + "]"
    let decoder = FastJSONDecoder()
    let keepers = try decode([Keeper].self, text, with: decoder)
    _ = try decode([AnyJSON].self, "[1,2,3]", with: decoder)
    for (index, keeper) in keepers.enumerated() {
      #expect(try keeper.members.decode(Int.self, forKey: .id) == index)
      #expect(try keeper.inner.decode([String: [Int]].self, forKey: .list) == ["a": [index, index + 1]])
      #expect(keeper.inner.codingPath.map(\.stringValue) == ["Index \(index)", "inner"])
    }
  }

  @Test func `a container of elements continues where it was`() throws {
    let keeper = try decode(Keeper.self, Keeper.text(5))
    let first = try keeper.list.decode(Int.self)
    let rest = [try keeper.list.decode(Int.self), try keeper.list.decode(Int.self)]
    #expect(first == 5 && rest == [6, 7] && keeper.list.isAtEnd)
    #expect(throws: DecodingError.self) { try keeper.list.decode(Int.self) }
  }

  @Test func `errors have their path and byte when the decoding is over`() throws {
    let keeper = try decode(Keeper.self, Keeper.text(5))
    do {
      _ = try keeper.inner.decode([String: [String]].self, forKey: .list)
      Issue.record("numbers are no strings")
    } catch let error as DecodingError {
      let failure = Failure(error)
      #expect(failure.path == ["inner", "list", "a", "Index 0"])
      let text = Keeper.text(5)
      let place = try #require(text.range(of: "\"a\":["))
      #expect(failure.byteOffset == text.utf8.distance(from: text.startIndex, to: place.upperBound))
    }
  }

  @Test func `a container that a model retains outlives the decoder and the bytes`() throws {
    var keepers: [Keeper] = []
    for id in 0..<5 {
      let decoder = FastJSONDecoder()
      keepers.append(try decoder.decode(Keeper.self, from: Data(Keeper.text(id).utf8)))
    }
    for (id, keeper) in keepers.enumerated() { try keeper.check(id) }
  }

  @Test func `a retained decoder may be used on another thread`() throws {
    let keeper = Handed(value: try decode(Keeper.self, Keeper.text(3)))
    let errors = try onLargeStack {
      do {
        try keeper.value.check(3)
        return 0
      } catch {
        return 1
      }
    }
    #expect(errors == 0)
  }

  @Test func `a retained decoder may be used by eight threads at once`() throws {
    // Types that the decoding has not met: what is learned after it must not be written by two
    // threads.
    for round in 0..<50 {
      let keeper = Handed(value: try decode(Keeper.self, Keeper.text(round)))
      let wrong = Atomic<Int>(0)
      DispatchQueue.concurrentPerform(iterations: 8) { thread in
        for _ in 0..<20 where !keeper.value.isRight(round, thread) { wrong.wrappingAdd(1, ordering: .relaxed) }
      }
      let count = wrong.load(ordering: .relaxed)
      #expect(count == 0)
    }
  }

  @Test func `a decoder uses one session again and again`() throws {
    let (decoder, probe) = try probed()
    for _ in 0..<10 { _ = try decode(Probed.self, #"{"inner":{"inner":{}}}"#, with: decoder) }
    #expect(probe.identifiers.count == 30)
    #expect(Set(probe.identifiers).count == 1)
    #expect(probe.session != nil)
  }

  @Test func `a session is used again after a model has thrown`() throws {
    let (decoder, probe) = try probed()
    _ = try decode(Probed.self, "{}", with: decoder)
    #expect(throws: CancellationError.self) { try decode(Probed.self, #"{"inner":{"id":true}}"#, with: decoder) }
    #expect(isRefused(Probed.self, #"{"inner":{"id":1}}"#, with: decoder))
    _ = try decode(Probed.self, "{}", with: decoder)
    #expect(Set(probe.identifiers).count == 1)
  }

  @Test func `a kept container keeps its session, which ends with it`() throws {
    let (decoder, probe) = try probed()
    let keeper = try decode(ProbedKeeper.self, #"{"id":7}"#, with: decoder)
    let first = try #require(probe.identifiers.last)
    _ = try decode(Probed.self, "{}", with: decoder)
    #expect(probe.identifiers.last != first)
    probe.session = nil
    let id = try keeper.container.decode(Int.self, forKey: .id)
    #expect(id == 7)
    let again = try decode(ProbedKeeper.self, #"{"id":8}"#, with: decoder)
    #expect(probe.session != nil)
    #expect(try again.container.decode(Int.self, forKey: .id) == 8)
  }

  @Test func `the session of a retained container ends with a call after its release`() throws {
    let sessions = SessionPool(capacity: 4)
    let (decoder, probe) = try probed(sessions)
    for count in [1, 4, 8, 9, 30] {
      let text = "[" + Array(repeating: "{\"id\":7}", count: count).joined(separator: ",") + "]"
      var keepers: [ProbedKeeper]? = try decode([ProbedKeeper].self, text, with: decoder)
      #expect(keepers?.count == count)
      #expect(sessions.kept.count == 1)
      sessions.kept.sweep()
      #expect(probe.session != nil)
      let last = keepers?.last
      keepers = nil
      sessions.kept.sweep()
      #expect(probe.session != nil)
      #expect(try last?.container.decode(Int.self, forKey: .id) == 7)
      _ = consume last
      sessions.kept.sweep()
      #expect(probe.session == nil)
      #expect(sessions.kept.count == 0)
    }
  }

  @Test func `the session of a kept decoder ends with it`() throws {
    let sessions = SessionPool(capacity: 4)
    let (decoder, probe) = try probed(sessions)
    var keeper: DecoderKeeper? = try decode(DecoderKeeper.self, #"{"inner":{"id":7}}"#, with: decoder)
    #expect(sessions.kept.count == 0)
    // A container that is made of it now owns the session.
    var container = try keeper?.decoder.container(keyedBy: Keys.self).nestedContainer(
      keyedBy: Keys.self, forKey: .inner)
    keeper = nil
    #expect(probe.session != nil)
    #expect(try container?.decode(Int.self, forKey: .id) == 7)
    #expect(try container?.decodeIfPresent(Int.self, forKey: .name) == nil)
    container = nil
    #expect(probe.session == nil)
  }

  @Test func `a decoder that a kept container makes keeps the session too`() throws {
    let sessions = SessionPool(capacity: 4)
    let (decoder, probe) = try probed(sessions)
    var keeper: ProbedKeeper? = try decode(ProbedKeeper.self, #"{"id":7}"#, with: decoder)
    var inner = try keeper?.container.superDecoder(forKey: .id)
    keeper = nil
    sessions.kept.sweep()
    #expect(sessions.kept.count == 0)
    #expect(try inner?.singleValueContainer().decode(Int.self) == 7)
    #expect(probe.session != nil)
    inner = nil
    #expect(probe.session == nil)
  }

  @Test func `finished sessions are released while thousands are kept`() throws {
    let sessions = SessionPool(capacity: 4)
    let (decoder, _) = try probed(sessions)
    var keepers: [ProbedKeeper] = []
    for id in 0..<3_000 { keepers.append(try decode(ProbedKeeper.self, "{\"id\":\(id)}", with: decoder)) }
    #expect(sessions.kept.count == 3_000)
    // Each call looks at four and adds one.
    for id in 3_000..<9_000 { keepers[id % 3_000] = try decode(ProbedKeeper.self, "{\"id\":\(id)}", with: decoder) }
    #expect(sessions.kept.count <= 4_001)
    for (number, keeper) in keepers.enumerated() {
      let id = try keeper.container.decode(Int.self, forKey: .id)
      #expect(id == 6_000 + number)
    }
    keepers = []
    for _ in 0..<1_001 { _ = try decode(Probed.self, "{}", with: decoder) }
    #expect(sessions.kept.count == 0)
  }

  @Test func `a kept session takes no more than its text needs`() throws {
    let (decoder, probe) = try probed()
    _ = try decode([Int].self, "[" + Array(repeating: "1", count: 100_000).joined(separator: ",") + "]", with: decoder)
    let keeper = try decode(ProbedKeeper.self, #"{"id":7}"#, with: decoder)
    let size = try #require(probe.session).core.pointee.tape.size
    #expect(size < 1_000)
    #expect(try keeper.container.decode(Int.self, forKey: .id) == 7)
  }

  @Test func `containers are read on other threads while calls sweep`() throws {
    let sessions = SessionPool(capacity: 4)
    let wrong = Atomic<Int>(0)
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      do {
        let (decoder, _) = try probed(sessions)
        var keepers: [ProbedKeeper] = []
        for id in 0..<200 {
          keepers.append(try decode(ProbedKeeper.self, "{\"id\":\(id)}", with: decoder))
          if keepers.count > 10 { keepers.remove(at: id % 10) }
          for keeper in keepers where try keeper.container.decode(Int.self, forKey: .id) > id {
            throw CancellationError()
          }
        }
      } catch {
        wrong.wrappingAdd(1, ordering: .relaxed)
      }
    }
    let count = wrong.load(ordering: .relaxed)
    #expect(count == 0)
    sessions.kept.sweep(10_000)
    #expect(sessions.kept.count == 0)
  }

  @Test func `objects in the userInfo are released`() throws {
    final class Object: Sendable {}
    weak var weakObject: Object?
    let key = try #require(CodingUserInfoKey(rawValue: "object"))
    let decoder = FastJSONDecoder()
    do {
      let object = Object()
      weakObject = object
      decoder.userInfo = [key: object]
      _ = try decode(AnyJSON.self, "[1]", with: decoder)
      decoder.userInfo = [:]
    }
    #expect(weakObject == nil)
  }

  @Test func `objects in a strategy are released`() throws {
    final class Object: Sendable {}
    weak var weakObject: Object?
    let decoder = FastJSONDecoder()
    do {
      let object = Object()
      weakObject = object
      decoder.dateDecodingStrategy = .custom { _ in
        withExtendedLifetime(object) { Date(timeIntervalSinceReferenceDate: 0) }
      }
      _ = try decode(Date.self, "1", with: decoder)
      decoder.dateDecodingStrategy = .deferredToDate
    }
    #expect(weakObject == nil)
  }
}

extension Keeper {
  /// Reads a few values, each thread others first.
  func isRight(_ id: Int, _ thread: Int) -> Bool {
    do {
      switch thread % 4 {
      case 0: return try inner.decode([String: [Int]].self, forKey: .list) == ["a": [id, id + 1]]
      case 1: return try members.decode([Double].self, forKey: .list) == [Double(id), Double(id + 1), Double(id + 2)]
      case 2: return try members.decode(Set<Int16>.self, forKey: .list).count == 3
      default:
        let name = try members.decode(AnyJSON.self, forKey: .name)
        return try name == .string("name \u{E9} \(id)") && members.decode(Decimal.self, forKey: .id) == Decimal(id)
      }
    } catch {
      return false
    }
  }
}
