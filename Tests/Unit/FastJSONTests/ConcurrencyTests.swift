import Dispatch
import FastJSON
import Foundation
import Synchronization
import Testing

private struct Record: Codable, Equatable, Sendable {
  var id: Int
  var name: String
  var scores: [Double]
  var parent: [String: [Int]]?
}

private func record(_ seed: Int) -> Record {
  Record(
    id: seed, name: "record \(seed) \"é\"\n", scores: (0..<seed % 20).map { Double($0) / 4 },
    parent: seed % 3 == 0 ? nil : ["a": [seed]])
}

/// A model with a text in its text, which it decodes by the decoder that decodes it.
private struct Envelope: Decodable {
  static let key = CodingUserInfoKey(rawValue: "decoder")
  enum CodingKeys: String, CodingKey { case before, payload, after }
  var depth = 0

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    #expect(try container.decode(Int.self, forKey: .before) == 1)
    if let text = try container.decodeIfPresent(String.self, forKey: .payload) {
      let key = try #require(Self.key)
      let own = try #require(decoder.userInfo[key] as? FastJSONDecoder)
      depth = try own.decode(Envelope.self, from: Data(text.utf8)).depth + 1
    }
    #expect(try container.decode([Int].self, forKey: .after) == [2, 3])
  }

  /// A text in a text, as often as asked for.
  static func text(_ depth: Int) throws -> String {
    guard depth > 0 else { return #"{"before":1,"after":[2,3]}"# }
    let payload = try String(decoding: JSONEncoder().encode(text(depth - 1)), as: UTF8.self)
    return #"{"before":1,"payload":\#(payload),"after":[2,3]}"#
  }
}

@Suite struct `One decoder for many` {
  @Test func `eight threads decode with one decoder`() throws {
    let decoder = FastJSONDecoder()
    let texts = try (0..<64).map { try JSONEncoder().encode((0...$0).map(record)) }
    let wrong = Atomic<Int>(0)
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for round in 0..<200 {
        let number = (round * 7 + thread * 13) % texts.count
        let records = try? decoder.decode([Record].self, from: texts[number])
        if records != (0...number).map(record) { wrong.wrappingAdd(1, ordering: .relaxed) }
      }
    }
    let count = wrong.load(ordering: .relaxed)
    #expect(count == 0)
  }

  @Test func `eight tasks decode with one decoder, some without success`() async throws {
    let decoder = FastJSONDecoder()
    let good = try JSONEncoder().encode((0..<100).map(record))
    let bad = Data(good.dropLast(3))
    let results = await withTaskGroup(of: Int.self, returning: [Int].self) { group in
      for task in 0..<8 {
        group.addTask {
          var count = 0
          for round in 0..<100 {
            let data = (round + task).isMultiple(of: 2) ? good : bad
            if let records = try? decoder.decode([Record].self, from: data), records.count == 100 { count += 1 }
            await Task.yield()
          }
          return count
        }
      }
      var results: [Int] = []
      for await result in group { results.append(result) }
      return results
    }
    #expect(results == Array(repeating: 50, count: 8))
  }

  @Test func `strategies may change while others decode`() throws {
    let decoder = FastJSONDecoder()
    let text = Data(#"{"id":1,"name":"a","scores":[1.5],"parent":{"a_b":[1]}}"#.utf8)
    let wrong = Atomic<Int>(0)
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for round in 0..<300 {
        if thread == 0 {
          decoder.keyDecodingStrategy = round.isMultiple(of: 2) ? .convertFromSnakeCase : .useDefaultKeys
        } else {
          let found = try? decoder.decode(Record.self, from: text)
          if found != Record(id: 1, name: "a", scores: [1.5], parent: ["a_b": [1]]) {
            wrong.wrappingAdd(1, ordering: .relaxed)
          }
        }
      }
    }
    let count = wrong.load(ordering: .relaxed)
    #expect(count == 0)
  }

  @Test(arguments: [0, 1, 2, 5]) func `a model may decode by the decoder that decodes it`(depth: Int) throws {
    let key = try #require(Envelope.key)
    let decoder = FastJSONDecoder()
    decoder.userInfo = [key: decoder]
    defer { decoder.userInfo = [:] }
    let text = try Envelope.text(depth)
    for _ in 0..<3 {
      #expect(try decode(Envelope.self, text, with: decoder).depth == depth)
      #expect(try decode([Envelope].self, "[\(text),\(text)]", with: decoder).map(\.depth) == [depth, depth])
    }
  }

  @Test func `a failure inside of a decoding leaves the outer one right`() throws {
    struct Inner: Decodable { let x: [Int] }
    struct Outer: Decodable {
      init(from decoder: any Decoder) throws {
        let key = try #require(Envelope.key)
        let own = try #require(decoder.userInfo[key] as? FastJSONDecoder)
        let path = decoder.codingPath.map(\.stringValue)
        #expect(throws: DecodingError.self) { try own.decode([Inner].self, from: Data(#"[{"x":[1,"y"]}]"#.utf8)) }
        #expect(throws: DecodingError.self) { try own.decode([Inner].self, from: Data("[{".utf8)) }
        #expect(decoder.codingPath.map(\.stringValue) == path)
        _ = try decoder.container(keyedBy: AnyKey.self).decode(Int.self, forKey: AnyKey("a"))
      }
    }
    let key = try #require(Envelope.key)
    let decoder = FastJSONDecoder()
    decoder.userInfo = [key: decoder]
    defer { decoder.userInfo = [:] }
    #expect(try decode([Outer].self, #"[{"a":1},{"a":2}]"#, with: decoder).count == 2)
    let error = try failure([String: [Outer]].self, #"{"k":[{"a":1},{"a":"x"}]}"#, with: decoder)
    #expect(error == Failure(.typeMismatch, ["k", "Index 1", "a"], at: 19))
  }

  @Test func `strategies may decode too`() throws {
    let decoder = FastJSONDecoder()
    let inner = FastJSONDecoder()
    decoder.dateDecodingStrategy = .custom { value in
      let text = try value.singleValueContainer().decode(String.self)
      return Date(timeIntervalSinceReferenceDate: try inner.decode(Double.self, from: Data(text.utf8)))
    }
    let dates = try decode([Date].self, #"["1.5","2"]"#, with: decoder)
    #expect(dates.map(\.timeIntervalSinceReferenceDate) == [1.5, 2])
    #expect(isRefused([Date].self, #"["1.5","x"]"#, with: decoder))
  }
}
