import Foundation
import Testing

@testable import ReactorCore

@Suite struct `Codable models` {
  static let envelope = #"""
    {"meta": {"next": 2},
     "data": {"articles": [
       {"id": 1, "title": "One", "writer": {"name": "Ann"}},
       {"id": 2, "title": 3},
       {"id": "x", "title": "Three"},
       null,
       {"id": 5, "title": "Five", "writer": {}},
       {"id": 1e400, "title": "Six"},
       {"id": 7, "title": "\ud83d"},
       {"id": 8, "title": "Eight"}
     ]}}
    """#.data

  @Test func `malformed Codable elements are left out, with index, path and position`() throws {
    let parsed = try Parser<[Story]>.json(keyPath: "data.articles").parse(Self.envelope)
    #expect(parsed.model.map(\.id) == [1, 8])
    #expect(parsed.pruned.map(\.index) == [1, 2, 3, 4, 5, 6])
    #expect(
      parsed.pruned.map(\.error.codingPath) == [
        "data.articles[1].title", "data.articles[2].id", "data.articles[3]", "data.articles[4].writer.name",
        "data.articles[5].id", "data.articles[6].title",
      ])
    #expect(
      parsed.pruned.map(\.error.reason) == [
        .wrongType, .wrongType, .wrongType, .missing, .unacceptable, .unacceptable,
      ])
    #expect(parsed.pruned.map(\.error.position?.line) == [4, 5, 6, 7, 8, 9])
    #expect(
      parsed.pruned.map { $0.error.excerpt?.prefix(4) } == ["3},\\", "\"x\",", "null", "{}},", "1e40", "\"\\ud"])
    #expect(parsed.pruned[1].error.expected == "expected an integer (Int), found a string")
    for pruned in parsed.pruned {
      let position = try #require(pruned.error.position)
      let lines = Self.envelope.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      let before = lines.prefix(position.line - 1).reduce(0) { $0 + $1.count + 1 }
      #expect(position.offset == before + position.column - 1)
    }
  }

  @Test func `strict parsing fails with the first malformed Codable element`() throws {
    let parser = Parser<[Story]>.json(keyPath: "data.articles", mode: .strict)
    let error = try #require(throws: ParserError.self) { try parser.parse(Self.envelope) }
    #expect(error.codingPath == "data.articles[1].title")
    #expect(error.position?.line == 4)
    #expect(try parser.parse(#"{"data":{"articles":[]}}"#.data).model == [])
  }

  @Test func `a decoding error has the element's path even if the decoder loses it`() throws {
    let error = try #require(throws: ParserError.self) {
      try Parser<[Story]>.json(mode: .strict).parse(#"[{"id":1,"title":""},{"id":1e400,"title":""}]"#.data)
    }
    #expect(error.codingPath == "[1].id")
    #expect(error.reason == .unacceptable)
    #expect(error.position?.offset == 27)
  }

  @Test func `a list of only bad elements is an error that names the first, and an empty list is empty`() throws {
    #expect(try Parser<[Story]>.json().parse("[]".data).pruned.isEmpty)
    let body = #"{"data":[{"id":1,"titel":"a"},{"id":2,"titel":"b"}]}"#.data
    let error = try #require(throws: ParserError.self) { try Parser<[Story]>.json(keyPath: "data").parse(body) }
    #expect(error.reason == .missing)
    #expect(error.codingPath == "data[0].title")
    #expect(error.position?.offset == 9)
    #expect(error.expected == "expected an array, but none of its 2 elements could be read: expected a member title")
    let all = try Parser<[Story]>.json(keyPath: "data", mode: .pruneAll).parse(body)
    #expect(all.model.isEmpty)
    #expect(all.prunedCount == 2)
    let decoder = JSONDecoder()
    decoder.allowsJSON5 = true
    #expect(throws: ParserError.self) { try Parser<[Story]>.json(decoder: decoder).parse("[{id: 1},]".data) }
  }

  @Test func `a Codable model's own error is kept, with its place`() throws {
    struct Letter: Codable, Sendable { var to: Address }
    let parsed = try Parser<[Letter]>.json(keyPath: "a").parse(#"{"a":[{"to":"x@y"},{"to":"nobody"}]}"#.data)
    #expect(parsed.model.count == 1)
    #expect(parsed.pruned.map(\.index) == [1])
    #expect(parsed.pruned[0].error.expected == "nobody is no address")
    #expect(parsed.pruned[0].error.codingPath == "a[1]")
    #expect(parsed.pruned[0].error.position?.offset == 19)
    let error = try #require(throws: ParserError.self) { try Parser<Letter>.json().parse(#"{"to":"nobody"}"#.data) }
    #expect(error.expected == "nobody is no address")
    #expect(error.reason == .unacceptable)
  }

  @Test func `a ParserError that a Codable model throws keeps its path`() throws {
    struct Wrapped: Decodable, Sendable {
      init(from decoder: any Decoder) throws {
        _ = try JSONValue(from: decoder).model("writer", as: MappedWriter.self)
      }
    }
    let parsed = try Parser<[Wrapped]>.json(mode: .pruneAll).parse(#"[{"writer":{"name":1}}]"#.data)
    #expect(parsed.pruned[0].error.codingPath == "[0].writer.name")
    #expect(parsed.pruned[0].error.position?.offset == 19)
  }

  @Test func `duplicate members of a Codable model are reported, and the first is used`() throws {
    let text = #"{"id":1,"id":2,"title":"a","t\u0069tle":"b","x":[{"é":1,"e\#u{301}":2}],"id":3}"#
    let parsed = try Parser<Story>.json().parse(text.data)
    #expect(parsed.model == Story(id: 1, title: "a"))
    #expect(Set(parsed.duplicates) == ["id", "title", "x[0].é"])
    let many = "{" + (0..<40).map { #""k\#($0)":1,"k\#($0)":2"# }.joined(separator: ",") + "}"
    #expect(try Parser<[String: Int]>.json().parse(many.data).duplicates.count == 16)
    #expect(try Parser<[String: Int]>.json().parse(many.data).model.values.allSatisfy { $0 == 1 })
  }

  @Test(
    arguments: [
      (nil, #"{"id":1,"title":"a"}"#), ("data", #"{"data":{"id":1,"title":"a"}}"#),
      ("a.0.b", #"{"a":[{"b":{"id":1,"title":"a"}}]}"#), ("0", #"{"0":{"id":1,"title":"a"}}"#),
      ("q\"\\é", #"{"q\"\\é":{"id":1,"title":"a"}}"#),
    ] as [(String?, String)])
  func `a Codable model is read from its own encoding, envelope included`(_ keyPath: String?, _ text: String) throws {
    let parser = Parser<Story>.json(keyPath: keyPath)
    let story = try parser.parse(text.data).model
    let data = try #require(try parser.encode(story))
    #expect(story == Story(id: 1, title: "a"))
    #expect(try parser.parse(data).model == story)
    #expect(try Parser<[Story]>.json(keyPath: keyPath).roundTrip([story, story]) == [story, story])
  }

  @Test func `a model that is only Decodable cannot be encoded`() throws {
    struct Reading: Decodable, Sendable { var id: Int }
    let parser = Parser<Reading>.json()
    let reading = try parser.parse(#"{"id":1}"#.data).model
    let error = try #require(throws: ParserError.self) { try parser.encode(reading) }
    #expect(error.reason == .unsupported)
  }

  @Test func `a Codable model of types with special rules decodes by these rules`() throws {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    let text = #"["2026-01-01T00:00:00Z", "never"]"#.data
    let parsed = try Parser<[Date]>.json(decoder: decoder).parse(text)
    #expect(parsed.model == [Date(timeIntervalSince1970: 1_767_225_600)])
    #expect(parsed.pruned.map(\.error.codingPath) == ["[1]"])
    #expect(throws: ParserError.self) { try Parser<Date>.json(decoder: decoder).parse(#""never""#.data) }
  }

  @Test func `errors have positions although the decoder converts names`() throws {
    struct Page: Codable, Sendable { var pageNumber: Int }
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let error = try #require(throws: ParserError.self) {
      try Parser<Page>.json(keyPath: "the_page", decoder: decoder).parse(#"{"the_page":{"page_number":"x"}}"#.data)
    }
    #expect(error.codingPath == "the_page.pageNumber")
    #expect(error.position?.offset == 27)
    #expect(error.expected == "expected an integer (Int), found a string")
  }

  @Test func `Codable models are read from looser JSON if the decoder allows it`() throws {
    let decoder = JSONDecoder()
    decoder.allowsJSON5 = true
    let text = "{data: [0, {id: +1, title: 'a'}, {id: 2},], }".data
    let parsed = try Parser<Story>.json(keyPath: "data.1", decoder: decoder).parse(text)
    #expect(parsed.model == Story(id: 1, title: "a"))
    let all = try Parser<[Story]>.json(keyPath: "data", decoder: decoder).parse(text)
    #expect(all.model.count == 1)
    #expect(all.pruned.map(\.index) == [0, 2])
    #expect(all.pruned.last?.error.codingPath == "data[2].title")
    #expect(throws: ParserError.self) { try Parser<Story>.json(keyPath: "dat", decoder: decoder).parse(text) }
    #expect(throws: ParserError.self) { try Parser<Story>.json(keyPath: "data.9", decoder: decoder).parse(text) }
    let top = JSONDecoder()
    top.assumesTopLevelDictionary = true
    #expect(try Parser<Story>.json(decoder: top).parse(#""id": 1, "title": "a""#.data).model.id == 1)
  }

  @Test func `a subclass of JSONDecoder decodes strict JSON, with positions of errors`() throws {
    final class Shouting: JSONDecoder, @unchecked Sendable {
      override func decode<Model: Decodable>(_ type: Model.Type, from data: Data) throws -> Model {
        try super.decode(type, from: Data(data.text.uppercased().replacing("ID", with: "id").utf8))
      }
    }
    struct Shout: Decodable, Sendable { var id: String }
    let text = #"{"list": [{"id": "a"}, {"id": 2}, {"id": "c"}]}"#.data
    let parsed = try Parser<[Shout]>.json(keyPath: "list", decoder: Shouting()).parse(text)
    #expect(parsed.model.map(\.id) == ["A", "C"])
    #expect(parsed.pruned.map(\.error.codingPath) == ["list[1].id"])
    #expect(parsed.pruned.map(\.error.position?.offset) == [30])
    let parser = Parser<Shout>.json(keyPath: "list.0", decoder: Shouting())
    #expect(try parser.parse(text).model.id == "A")
    #expect(throws: ParserError.self) { try parser.parse(#"{"list": [{"id": "a"},]}"#.data) }
  }

  @Test func `strict parsing reports the index of the first element that throws`() throws {
    let parser = Parser<[Address]>.json(mode: .strict)
    let error = try #require(throws: ParserError.self) { try parser.parse(#"["a@b", "nobody", "nowhere"]"#.data) }
    #expect(error.codingPath == "[1]")
    #expect(error.expected == "nobody is no address")
    #expect(error.position?.offset == 8)
  }

  @Test(arguments: [String.Encoding.utf16, .utf16LittleEndian, .utf16BigEndian, .utf32, .utf32LittleEndian])
  func `Codable models may come in UTF-16 and UTF-32, with positions as in UTF-8`(_ encoding: String.Encoding) throws {
    let data = try #require(#"[{"id":1,"title":"é😀"},{"id":"2"}]"#.data(using: encoding))
    let parsed = try Parser<[Story]>.json().parse(data)
    #expect(parsed.model == [Story(id: 1, title: "é😀")])
    #expect(parsed.pruned.map(\.error.position?.offset) == [33])
  }

  @Test func `half of a surrogate pair in a name fails the body`() throws {
    let error = try #require(throws: ParserError.self) {
      try Parser<[Story]>.json().parse(#"[{"id":1,"title":"a"},{"\udc00":1}]"#.data)
    }
    #expect(error.reason == .unacceptable)
    #expect(error.position?.offset == 23)
  }

  @Test func `errors have positions although the program converts names`() throws {
    struct Page: Codable, Sendable { var number: Int }
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .custom { path in
      JSONPath.Key(name: String((path.last?.stringValue ?? "").dropFirst(2)))
    }
    let error = try #require(throws: ParserError.self) {
      try Parser<Page>.json(keyPath: "a.b", decoder: decoder).parse(#"{"a":{"b":{"x_number":"x"}}}"#.data)
    }
    #expect(error.codingPath == "a.b.number")
    #expect(error.position?.offset == 22)
    #expect(error.expected == "expected an integer (Int), found a string")
  }

  @Test func `an array with too few elements is reported with its place`() throws {
    struct Pair: Decodable, Sendable {
      init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        for _ in 0..<2 { _ = try container.decode(Int.self) }
      }
    }
    let error = try #require(throws: ParserError.self) { try Parser<Pair>.json(keyPath: "a").parse(#"{"a":[1]}"#.data) }
    #expect(error.reason == .missing)
    #expect(error.codingPath == "a[1]")
    #expect(error.position?.offset == 5)
  }

  @Test func `Codable models may come as a slice, with a byte order mark`() throws {
    let data = ("xxx\u{FEFF}[{\"id\":1,\"title\":\"a\"},3]".data).dropFirst(3)
    let parsed = try Parser<[Story]>.json().parse(data)
    #expect(parsed.model.count == 1)
    #expect(parsed.pruned[0].error.position?.offset == 25)
  }
}

extension Parser {
  fileprivate func roundTrip(_ model: Model) throws -> Model? {
    try encode(model).map { try parse($0).model }
  }
}
