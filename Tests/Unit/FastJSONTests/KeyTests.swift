import FastJSON
import Foundation
import ReactorTesting
import Testing

private let snakeNames: [(String, String)] = [
  ("one", "one"), ("one_two", "oneTwo"), ("one_two_three", "oneTwoThree"), ("_one_two", "_oneTwo"),
  ("one_two_", "oneTwo_"), ("__one_two__", "__oneTwo__"), ("one__two", "oneTwo"), ("_one", "_one"),
  ("one_", "one_"), ("_", "_"), ("__", "__"), ("", ""), ("oneTwo", "oneTwo"), ("oneTwo_three", "onetwoThree"),
  ("ONE_TWO", "oneTwo"), ("user_ID", "userId"), ("user_id", "userId"), ("ID", "ID"), ("a_1", "a1"), ("1_a", "1A"),
  ("one two_three", "one twoThree"), ("café_olé", "caféOlé"), ("ä_ö", "äÖ"), ("a_b_c_d_e", "aBCDE"), ("😀_a", "😀A"),
]

/// Everything that a keyed container finds, by name.
private struct Members: Decodable {
  let values: [String: Int]
  let names: [String]

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: AnyKey.self)
    let keys = container.allKeys
    names = keys.map(\.stringValue)
    var values: [String: Int] = [:]
    for key in keys.reversed() { values[key.stringValue] = try container.decode(Int.self, forKey: key) }
    self.values = values
  }
}

/// The value of one member; its name is in the `userInfo`.
private struct Member: Decodable {
  static let name = CodingUserInfoKey(rawValue: "name")
  let value: Int?
  let isContained: Bool

  init(from decoder: any Decoder) throws {
    let name = try #require(Self.name)
    let key = AnyKey(try #require(decoder.userInfo[name] as? String))
    let container = try decoder.container(keyedBy: AnyKey.self)
    value = try container.decodeIfPresent(Int.self, forKey: key)
    isContained = container.contains(key)
  }
}

private func member(_ name: String, of text: String) throws -> Int? {
  let key = try #require(Member.name)
  let member = try decode(Member.self, text, with: configured { $0.userInfo = [key: name] })
  #expect(member.isContained == (member.value != nil))
  return member.value
}

private struct Record: Codable, Equatable {
  var id: Int
  var name: String
  var isOpen: Bool
  var score: Double
  var note: String?
  var tags: [String]
}

private func object(_ names: some Sequence<String>) -> String {
  "{" + names.enumerated().map { "\"\($0.element)\":\($0.offset)" }.joined(separator: ",") + "}"
}

@Suite struct `Names of members` {
  @Test func `the first of equal names counts`() throws {
    #expect(try member("a", of: #"{"a":1,"a":2}"#) == 1)
    #expect(try member("a", of: #"{"b":0,"a":1,"c":0,"a":2,"a":3}"#) == 1)
    #expect(try decode([String: Int].self, #"{"a":1,"a":2,"b":3}"#) == ["a": 1, "b": 3])
    #expect(try decode(Members.self, #"{"a":1,"a":2}"#).names == ["a"])
    let null: [String: Int?] = ["a": nil]
    #expect(try decode([String: Int?].self, #"{"a":null,"a":2}"#) == null)
  }

  @Test func `the first of equal names counts, escaped or not`() throws {
    #expect(try member("a", of: #"{"\u0061":1,"a":2}"#) == 1)
    #expect(try member("a", of: #"{"a":1,"\u0061":2}"#) == 1)
    #expect(try member("é", of: #"{"\u00e9":1,"é":2}"#) == 1)
    #expect(try decode([String: Int].self, #"{"\u0061":1,"a":2}"#) == ["a": 1])
  }

  @Test(arguments: [2, 31, 32, 33, 34, 200]) func `the first of equal names counts in an object of any size`(
    count: Int
  ) throws {
    let names = (0..<count).map { "n\($0)" }
    let text = object(names + names.reversed())
    let members = try decode(Members.self, text)
    #expect(members.names == names)
    #expect(members.values == Dictionary(uniqueKeysWithValues: zip(names, 0...)))
    #expect(try decode([String: Int].self, text) == members.values)
  }

  @Test func `a learned order does not skip the first of equal names`() throws {
    struct Pair: Decodable, Equatable {
      let a: Int
      let b: Int
    }
    let text = #"[{"a":1,"b":2},{"a":1,"b":2,"a":9},{"b":2,"a":1,"b":9},{"a":1,"a":9,"b":2,"b":9}]"#
    #expect(try decode([Pair].self, text) == Array(repeating: Pair(a: 1, b: 2), count: 4))
  }

  @Test func `an escaped name is its characters`() throws {
    #expect(try member("a/b\"c\\d\n", of: #"{"a\/b\"c\\d\n":1}"#) == 1)
    #expect(try member("😀", of: #"{"\ud83d\ude00":1}"#) == 1)
    #expect(try member("\0", of: #"{"\u0000":1,"":2}"#) == 1)
    #expect(try member("ab", of: #"{"a\u0062":1}"#) == 1)
  }

  @Test func `names that are canonically equal are one name`() throws {
    #expect(try member("\u{E9}", of: "{\"e\u{301}\":1}") == 1)
    #expect(try member("e\u{301}", of: "{\"\u{E9}\":1}") == 1)
    #expect(try member("e\u{301}", of: "{\"x\":0,\"\u{E9}\":1,\"e\u{301}\":2}") == 1)
    #expect(try member("K", of: "{\"\u{212A}\":1}") == 1)
    #expect(try decode([String: Int].self, "{\"\u{E9}\":1,\"e\u{301}\":2}") == ["\u{E9}": 1])
  }

  @Test func `a key that is canonically equal to a plain name finds it`() throws {
    #expect(try member("\u{212A}", of: #"{"K":1}"#) == 1)
    #expect(try member("\u{37E}", of: #"{";":1}"#) == 1)
    #expect(try member("\u{212A}", of: object((0..<50).map { "n\($0)" } + ["K"])) == 50)
  }

  @Test func `names that are canonically equal are one name in a large object`() throws {
    let names = (0..<50).map { "n\($0)é" }
    #expect(try member("n7e\u{301}", of: object(names)) == 7)
    #expect(try member("n51e\u{301}", of: object(names)) == nil)
  }

  @Test func `the empty name is a name`() throws {
    #expect(try member("", of: #"{"":1}"#) == 1)
    #expect(try member("", of: #"{"a":1}"#) == nil)
    #expect(try member("", of: "{}") == nil)
    #expect(try decode([String: Int].self, #"{"":1,"a":2}"#) == ["": 1, "a": 2])
  }

  @Test(arguments: 0...40) func `a name of each length is found`(length: Int) throws {
    let name = String("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP".prefix(length))
    let other = "\(name.dropLast())?"
    #expect(try member(name, of: object([other, name])) == 1)
    #expect(try member(name, of: object([other])) == nil)
    #expect(try member(name, of: object(["\(name)x", "x\(name)"])) == nil)
  }

  @Test(arguments: [65_534, 65_535, 65_536, 200_000]) func `a long name is found`(length: Int) throws {
    let name = String(repeating: "n", count: length)
    #expect(try member(name, of: object(["a", "\(name)n", name, "b"])) == 2)
    #expect(try member("b", of: object(["a", "\(name)n", name, "b"])) == 3)
    #expect(try member("\(name)nn", of: object(["a", "\(name)n", name])) == nil)
    #expect(try decode([String: Int].self, object([name, name])) == [name: 0])
  }

  @Test func `members may stand in any order, another in each object`() throws {
    var random = SeededGenerator(seed: 0x5EED_0003)
    let members = [
      #""id":7"#, #""name":"a""#, #""isOpen":true"#, #""score":1.5"#, #""note":null"#, #""tags":["x"]"#,
      #""extra":{"id":1}"#,
    ]
    let objects = (0..<300).map { _ in "{" + members.shuffled(using: &random).joined(separator: ",") + "}" }
    let records = try decode([Record].self, "[" + objects.joined(separator: ",") + "]")
    #expect(records.count == 300)
    #expect(records.allSatisfy { $0 == Record(id: 7, name: "a", isOpen: true, score: 1.5, note: nil, tags: ["x"]) })
    let reversed = "{" + members.reversed().joined(separator: ",") + "}"
    #expect(try decode(Record.self, reversed) == records.first)
  }

  @Test func `members may be absent or more than requested`() throws {
    let text = #"{"x":[{"id":0}],"id":1,"y":{},"name":"n","isOpen":false,"score":0,"tags":[],"z":"\u0061"}"#
    #expect(try decode(Record.self, text).note == nil)
    #expect(try failure(Record.self, #"{"id":1,"name":"n"}"#) == Failure(.keyNotFound, [], at: 0))
    #expect(try decode(Nothing.self, text) == decode(Nothing.self, "{}"))
  }

  @Test(arguments: [1, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1_000]) func `each member of a large object is found`(
    count: Int
  ) throws {
    let names = (0..<count).map { "name\($0)" }
    let expected = Dictionary(uniqueKeysWithValues: zip(names, 0...))
    let members = try decode(Members.self, object(names))
    #expect(members.names == names)
    #expect(members.values == expected)
    #expect(try member("name\(count)", of: object(names)) == nil)
    #expect(try decode([String: Int].self, object(names)) == expected)
  }

  @Test(arguments: [20, 32, 33, 500]) func `names that differ only in the middle are distinguished`(count: Int) throws {
    // The hash of names looks at their first and last eight bytes.
    let names = (0..<count).map { "firsteight\(1_000 + $0)lasteight" }
    let members = try decode(Members.self, object(names))
    #expect(members.values == Dictionary(uniqueKeysWithValues: zip(names, 0...)))
    #expect(try member("firsteight9999lasteight", of: object(names)) == nil)
  }

  @Test func `allKeys are the names that the key type takes, in the text's order`() throws {
    struct Keys: Decodable {
      enum CodingKeys: String, CodingKey { case a, b, c }
      let names: [String]
      init(from decoder: any Decoder) throws {
        names = try decoder.container(keyedBy: CodingKeys.self).allKeys.map(\.stringValue)
      }
    }
    #expect(try decode(Keys.self, #"{"x":1,"c":1,"y":1,"a":1,"c":2}"#).names == ["c", "a"])
    #expect(try decode(Keys.self, "{}").names.isEmpty)
  }

  @Test func `contains and decodeNil distinguish null from absence`() throws {
    struct Asked: Decodable {
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        #expect(container.contains(AnyKey("null")))
        #expect(container.contains(AnyKey("one")))
        #expect(!container.contains(AnyKey("none")))
        #expect(try container.decodeNil(forKey: AnyKey("null")))
        #expect(try !container.decodeNil(forKey: AnyKey("one")))
        #expect(throws: DecodingError.self) { try container.decodeNil(forKey: AnyKey("none")) }
      }
    }
    _ = try decode(Asked.self, #"{"one":1,"null":null}"#)
  }

  @Test func `dictionaries have keys of other types`() throws {
    enum Color: String, Codable, CodingKeyRepresentable { case red, green }
    enum Plain: String, Codable { case red, green }
    #expect(try decode([Int: String].self, #"{"1":"a","-2":"b"}"#) == [1: "a", -2: "b"])
    #expect(try decode([Color: Int].self, #"{"red":1,"green":2}"#) == [.red: 1, .green: 2])
    #expect(try decode([Plain: Int].self, #"["red",1,"green",2]"#) == [.red: 1, .green: 2])
    #expect(isRefused([Int: String].self, #"{"a":"b"}"#))
    #expect(isRefused([Color: Int].self, #"{"blue":1}"#))
    #expect(isRefused([Plain: Int].self, #"["red"]"#))
  }
}

@Suite struct `Names that are converted` {
  private let snake = configured { $0.keyDecodingStrategy = .convertFromSnakeCase }

  @Test(arguments: snakeNames) func `snake case becomes camel case`(name: String, converted: String) throws {
    #expect(try decode(Members.self, object([name]), with: snake).names == [converted])
    #expect(try decode(Members.self, object(["x", name, "y"]), with: snake).values[converted] == 1)
  }

  @Test func `the first of names that become equal counts`() throws {
    #expect(try decode(Members.self, #"{"a_b":1,"aB":2,"a__b":3}"#, with: snake).values == ["aB": 1])
    #expect(try decode(Members.self, #"{"aB":1,"a_b":2}"#, with: snake).values == ["aB": 1])
  }

  @Test func `dictionaries keep their names`() throws {
    struct Model: Decodable {
      let byName: [String: [String: Int]]
    }
    let text = #"{"by_name":{"a_b":{"c_d":1,"c_d":2},"aB":{}}}"#
    let expected: [String: [String: Int]] = ["a_b": ["c_d": 1], "aB": [:]]
    #expect(try decode(Model.self, text, with: snake).byName == expected)
    #expect(try decode([String: Int].self, #"{"a_b":1,"a_b":2,"c\u005fd":3}"#, with: snake) == ["a_b": 1, "c_d": 3])
  }

  @Test func `a synthesized model finds its members`() throws {
    struct Person: Decodable, Equatable {
      let userId: Int
      let firstName: String?
      let homeURL: String?
    }
    let text = #"[{"user_id":1,"first_name":"a","home_URL":"x"},{"first_name":null,"user_id":2}]"#
    let people = try decode([Person].self, text, with: snake)
    let (first, second) = (
      Person(userId: 1, firstName: "a", homeURL: nil), Person(userId: 2, firstName: nil, homeURL: nil)
    )
    #expect(people == [first, second])
    #expect(try failure(Person.self, #"{"user_ID":"x"}"#, with: snake) == Failure(.typeMismatch, ["userId"], at: 11))
  }

  @Test func `many distinct names leave the values as they are`() throws {
    // The converted names stand behind the text, which has to grow for them while it is parsed.
    let names = (0..<5_000).map { "a_\($0)_b" }
    let members = names.enumerated().map { "\"\($0.element)\":{\"v_v\":\"\\u0041\($0.offset)\"}" }
    let text = "{" + members.joined(separator: ",") + "}"
    let values = try decode([String: [String: String]].self, text, with: snake)
    #expect(values.count == 5_000)
    #expect(values["a_4999_b"] == ["v_v": "A4999"])
    #expect(try decode(Members.self, object(names), with: snake).values["a4321B"] == 4_321)
    #expect(try decode(Members.self, object(["x_y"]), with: snake).names == ["xY"])
  }

  @Test func `a strategy may change from call to call`() throws {
    let decoder = FastJSONDecoder()
    for _ in 0..<3 {
      decoder.keyDecodingStrategy = .convertFromSnakeCase
      #expect(try decode(Members.self, #"{"a_b":1}"#, with: decoder).names == ["aB"])
      decoder.keyDecodingStrategy = .useDefaultKeys
      #expect(try decode(Members.self, #"{"a_b":1}"#, with: decoder).names == ["a_b"])
      decoder.keyDecodingStrategy = .custom { _ in AnyKey("x") }
      #expect(try decode(Members.self, #"{"a_b":1,"c":2}"#, with: decoder).values == ["x": 1])
    }
  }

  @Test func `a custom strategy gets the path of each name`() throws {
    struct Inner: Decodable { let x: Int }
    struct Outer: Decodable { let list: [Inner] }
    let paths = Box<[String]>([])
    let decoder = configured {
      $0.keyDecodingStrategy = .custom { path in
        let joined = path.map(\.stringValue).joined(separator: "/")
        paths.update { $0.append(joined) }
        return AnyKey(path.last.map { $0.stringValue.lowercased() } ?? "")
      }
    }
    let outer = try decode(Outer.self, #"{"LIST":[{"X":1},{"Y":0,"X":2}]}"#, with: decoder)
    #expect(outer.list.map(\.x) == [1, 2])
    #expect(paths.value == ["LIST", "list/Index 0/X", "list/Index 1/Y", "list/Index 1/X"])
  }

  @Test func `the first of names that a custom strategy makes equal counts`() throws {
    let decoder = configured { $0.keyDecodingStrategy = .custom { AnyKey($0.last?.stringValue.lowercased() ?? "") } }
    #expect(try decode(Members.self, #"{"A":1,"a":2,"B":3}"#, with: decoder).values == ["a": 1, "b": 3])
    #expect(try decode([String: Int].self, #"{"A":1,"a":2}"#, with: decoder) == ["A": 1, "a": 2])
    #expect(try failure(Record.self, #"{"ID":"x"}"#, with: decoder) == Failure(.typeMismatch, ["id"], at: 6))
  }
}
