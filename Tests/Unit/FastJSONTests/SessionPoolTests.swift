import Dispatch
import Foundation
import Synchronization
import Testing

@testable import FastJSON

private struct Ones: Decodable {
  let values: [Int]

  static func text(_ count: Int) -> String {
    #"{"values":["# + Array(repeating: "1", count: count).joined(separator: ",") + "]}"
  }
}

/// One of any number of types, and of key types: `Wrapped<Wrapped<Int>>` and so on.
private struct Wrapped<Inner>: Decodable {
  enum Keys: String, CodingKey { case id }
  let id: Int

  init(from decoder: any Decoder) throws {
    id = try decoder.container(keyedBy: Keys.self).decode(Int.self, forKey: .id)
  }

  /// Decodes by this type and so many around it.
  static func decodeAll(_ depth: Int, with decoder: FastJSONDecoder) throws -> Int {
    let list = try decoder.decode([Wrapped].self, from: Data(#"[{"id":1},{"id":2}]"#.utf8))
    let sum = list.reduce(0) { $0 + $1.id }
    return try depth == 0 ? sum : sum + Wrapped<Wrapped>.decodeAll(depth - 1, with: decoder)
  }
}

/// Decodes a text with another decoder while it is decoded.
private struct Busy: Decodable {
  static let key = CodingUserInfoKey(rawValue: "decoder")

  init(from decoder: any Decoder) throws {
    let key = try #require(Self.key)
    let own = try #require(decoder.userInfo[key] as? FastJSONDecoder)
    _ = try own.decode(Ones.self, from: Data(Ones.text(2).utf8))
  }
}

@Suite struct `Sessions between calls` {
  @Test func `all decoders share one session, if they do not decode at once`() throws {
    let sessions = SessionPool(capacity: 4)
    for _ in 0..<100 { _ = try decode(Ones.self, Ones.text(3), with: FastJSONDecoder(sessions)) }
    #expect(sessions.contents.count == 1)
    #expect(sessions.contents.size < 8_192)
  }

  @Test func `a decoder does not own a session`() throws {
    let sessions = SessionPool(capacity: 4)
    let decoders = (0..<1_000).map { _ in FastJSONDecoder(sessions) }
    for decoder in decoders { _ = try decode(Ones.self, Ones.text(3), with: decoder) }
    #expect(sessions.contents.count == 1)
  }

  @Test func `a large session is not kept`() throws {
    let sessions = SessionPool(capacity: 4)
    let decoder = FastJSONDecoder(sessions)
    let value = try decode(Ones.self, Ones.text(1_000_000), with: decoder)
    #expect(value.values.count == 1_000_000)
    #expect(sessions.contents == (0, 0))
    _ = try decode(Ones.self, Ones.text(100_000), with: decoder)
    #expect(sessions.contents.count == 1)
    #expect(sessions.contents.size > 1 << 20)
    #expect(sessions.contents.size <= SessionPool.maximumSessionSize)
  }

  @Test func `no more sessions are kept than there is room for`() throws {
    for capacity in [1, 2, 8] {
      let sessions = SessionPool(capacity: capacity)
      for size in [3, 30, 3_000] {
        var used = (0..<20).map { _ in sessions.take() }
        for number in used.indices {
          let text = Array(Ones.text(size).utf8)
          try text.withUnsafeBytes { try used[number].begin($0, .standard) }
        }
        while var session = used.popLast() { sessions.giveBack(&session) }
        #expect(sessions.contents.count == capacity)
      }
    }
  }

  @Test func `all that wait have a limit of bytes`() throws {
    let sessions = SessionPool(capacity: 8)
    let text = Array(Ones.text(120_000).utf8)
    var used = (0..<8).map { _ in sessions.take() }
    weak let first = used.first
    for session in used { try text.withUnsafeBytes { try session.begin($0, .standard) } }
    for number in used.indices {
      var session = used[number]
      used[number] = Session()
      sessions.giveBack(&session)
      #expect(sessions.contents.size <= SessionPool.maximumSize)
    }
    #expect(sessions.contents.count >= 2)
    // The first slot is used most.
    #expect(first != nil)
    while sessions.contents.count > 0 { _ = sessions.take() }
    #expect(first == nil)
    #expect(sessions.contents.size == 0)
  }

  @Test func `sessions end with their pool`() throws {
    weak var session: Session?
    do {
      let sessions = SessionPool(capacity: 2)
      var used = sessions.take()
      session = used
      sessions.giveBack(&used)
      used = Session()
      #expect(session != nil)
    }
    #expect(session == nil)
  }

  @Test func `a call inside of a call has another session`() throws {
    let sessions = SessionPool(capacity: 4)
    let decoder = FastJSONDecoder(sessions)
    let key = try #require(Busy.key)
    decoder.userInfo = [key: decoder]
    defer { decoder.userInfo = [:] }
    for _ in 0..<10 { _ = try decode([Busy].self, "[1,2,3]", with: decoder) }
    #expect(sessions.contents.count == 2)
  }

  @Test func `a new key type finds room among hundreds`() throws {
    let sessions = SessionPool(capacity: 1)
    let decoder = FastJSONDecoder(sessions)
    let sums = try onLargeStack { (0..<3).map { _ in try? Wrapped<Int>.decodeAll(600, with: decoder) } }
    #expect(sums == [1_803, 1_803, 1_803])
    // The last of them is reused, as is a new session.
    let session = sessions.take()
    let text = Array(#"{"id":1}"#.utf8)
    try text.withUnsafeBytes { try session.begin($0, .standard) }
    enum Keys: String, CodingKey { case id }
    let root = session.core.pointee.tape.root
    let first = ObjectIdentifier(try session.core.box(keyedBy: Keys.self, root))
    let second = ObjectIdentifier(try session.core.box(keyedBy: Keys.self, root))
    #expect(first == second)
  }

  @Test func `a box in use is not reused, even if its row is full`() throws {
    let session = Session()
    let text = Array(#"[{"id":0},{"id":1},{"id":2},{"id":3},{"id":4},{"id":5},{"id":6},{"id":7},{"id":8}]"#.utf8)
    try text.withUnsafeBytes { try session.begin($0, .standard) }
    enum Keys: String, CodingKey { case id }
    var containers: [KeyedDecodingContainer<Keys>] = []
    var list = try ElementContainer(session, Position(index: session.core.pointee.tape.root, container: 0))
    while !list.isAtEnd { containers.append(try list.nestedContainer(keyedBy: Keys.self)) }
    for (id, container) in containers.enumerated() {
      #expect(try container.decode(Int.self, forKey: .id) == id)
    }
    let isIdle = session.core.pointee.pool.isIdle()
    #expect(!isIdle)
    // The ninth owns the session, so that the pool does not wait for it.
    let last = containers.removeLast()
    containers = []
    let isIdleThen = session.core.pointee.pool.isIdle()
    #expect(isIdleThen)
    #expect(try last.decode(Int.self, forKey: .id) == 8)
  }

  @Test func `many threads take and give back`() throws {
    let sessions = SessionPool(capacity: 3)
    let wrong = Atomic<Int>(0)
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for round in 0..<300 {
        let decoder = FastJSONDecoder(sessions)
        let size = (thread * 7 + round) % 50 * (round.isMultiple(of: 50) ? 2_000 : 1)
        let found = try? decode(Ones.self, Ones.text(size), with: decoder)
        if found?.values.count != size { wrong.wrappingAdd(1, ordering: .relaxed) }
      }
    }
    let count = wrong.load(ordering: .relaxed)
    #expect(count == 0)
    let (waiting, size) = sessions.contents
    #expect(waiting >= 1 && waiting <= 3 && size <= SessionPool.maximumSize)
  }
}

extension CorePointer {
  /// The box behind a container.
  fileprivate func box<Key: CodingKey>(keyedBy type: Key.Type, _ index: TapeIndex) throws -> AnyObject {
    unsafeBitCast(try container(keyedBy: type, Position(index: index, container: 0)), to: AnyObject.self)
  }
}
