import FastJSON
import Foundation
import Testing

private struct Item: Decodable, Sendable {
  enum CodingKeys: String, CodingKey {
    case id
    case name
    case tags = "labels"
  }

  var id: Int
  var name: String
  var tags: [String]?
}

/// A fault of one item, and its error: the rest of the path, and the offset in the item's text.
struct Fault: Sendable, CustomTestStringConvertible {
  var item: String
  var kind: Failure.Kind
  var path: [String]
  var offset: Int

  init(_ item: String, _ kind: Failure.Kind, _ path: [String], at offset: Int) {
    self.item = item
    self.kind = kind
    self.path = path
    self.offset = offset
  }

  var testDescription: String { item }
}

private let faults = [
  Fault(#"{"id":1,"name":5}"#, .typeMismatch, ["name"], at: 15),
  Fault(#"{"id":1,"name":null}"#, .valueNotFound, ["name"], at: 15),
  Fault(#"{"id":1}"#, .keyNotFound, [], at: 0),
  Fault(#"{"id":1.5,"name":"a"}"#, .dataCorrupted, ["id"], at: 6),
  Fault(#"{"id":"x","name":"a"}"#, .typeMismatch, ["id"], at: 6),
  Fault(#"{"id":1,"name":"\u0061\n","labels":["\"",1]}"#, .typeMismatch, ["labels", "Index 1"], at: 41),
  Fault(#"{"id":1,"name":"a","labels":[null]}"#, .valueNotFound, ["labels", "Index 0"], at: 29),
  Fault(#"{"id":1,"name":"a","labels":{}}"#, .typeMismatch, ["labels"], at: 28),
  Fault("7", .typeMismatch, [], at: 0),
  Fault("null", .valueNotFound, [], at: 0),
]

private let good = #"{"id":1,"name":"a","labels":["x"]}"#

/// A list of 20,000 items with a fault in one of them, and where that one begins.
private func list(_ item: String, at index: Int) -> (text: String, offset: Int) {
  let items = (0..<20_000).map { $0 == index ? item : good }
  return ("[" + items.joined(separator: ",") + "]", 1 + index * (good.utf8.count + 1))
}

@Suite struct `Errors of decoding` {
  @Test(arguments: faults, [0, 1, 19_999])
  func `an error names the element, its path and its byte`(fault: Fault, index: Int) throws {
    let (text, offset) = list(fault.item, at: index)
    let expected = Failure(fault.kind, ["Index \(index)"] + fault.path, at: offset + fault.offset)
    #expect(try failure([Item].self, text) == expected)
  }

  @Test(arguments: [0, 1, 19_999])
  func `an element of a container that the model asks has its path too`(index: Int) throws {
    struct Asked: Decodable {
      init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        while !list.isAtEnd {
          let container = try list.nestedContainer(keyedBy: Item.CodingKeys.self)
          _ = try container.decode(String.self, forKey: .name)
        }
      }
    }
    let (text, offset) = list(#"{"id":1,"name":5}"#, at: index)
    #expect(try failure(Asked.self, text) == Failure(.typeMismatch, ["Index \(index)", "name"], at: offset + 15))
  }

  @Test(arguments: [0, 1, 19_999]) func `an error in a text names the byte`(index: Int) throws {
    let (text, offset) = list(#"{"id":1,"name":a}"#, at: index)
    let error = try failure([Item].self, text)
    #expect(error == Failure(.dataCorrupted, [], at: offset + 15))
  }

  @Test(arguments: [0, 1, 19_999]) func `an error in a list of numbers names the byte`(index: Int) throws {
    var numbers = Array(repeating: "1", count: 20_000)
    numbers[index] = "1.5"
    let text = "[" + numbers.joined(separator: ",") + "]"
    let expected = Failure(.dataCorrupted, ["Index \(index)"], at: 1 + 2 * index)
    #expect(try failure([Int].self, text) == expected)
    #expect(try failure([Int8].self, text) == expected)
  }

  @Test func `the path is of the model's own keys`() throws {
    do {
      _ = try decode([Item].self, #"[{"id":1,"name":"a","labels":[1]}]"#)
      Issue.record("an array of a number is no array of strings")
    } catch let error as DecodingError {
      let path = try #require(Failure.context(of: error)).codingPath
      #expect(path.count == 3)
      #expect(path.first?.intValue == 0)
      #expect(path.dropFirst().first is Item.CodingKeys)
      #expect(path.last?.intValue == 0)
    }
  }

  @Test func `the underlying error says the byte, and the fault of a text`() throws {
    func underlying(_ text: String) throws -> FastJSONError? {
      do {
        _ = try decode([Int].self, text)
        return nil
      } catch let error as DecodingError {
        return Failure.context(of: error)?.underlyingError as? FastJSONError
      }
    }
    let model = try #require(try underlying("[1, true]"))
    #expect(model.byteOffset == 4 && model.syntaxFault == nil)
    #expect(model.description.contains("4"))
    let syntax = try #require(try underlying("[1, tru]"))
    #expect(syntax.byteOffset == 7)
    let fault = try #require(syntax.syntaxFault)
    #expect(!fault.isEmpty && syntax.description.contains(fault))
    #expect(try underlying("[1,")?.byteOffset == 3)
    #expect(try underlying("")?.byteOffset == 0)
    #expect(try underlying("[1]") == nil)
  }

  @Test func `an error in a text has the byte of the fault`() throws {
    let texts = [
      ("[1,]", 3), ("[1 2]", 3), ("{\"a\" 1}", 5), ("{a}", 1), ("[01]", 2), ("[-]", 2), ("[1.]", 3), ("[1e]", 3),
      ("[\"a\\x\"]", 4), ("[\"\\ud800\"]", 2), ("[\"a\nb\"]", 3), ("[1]]", 3),
      ("[1", 2), ("\"ab", 3), ("", 0), ("  ", 2),
    ]
    for (text, offset) in texts {
      #expect(try failure(AnyJSON.self, text) == Failure(.dataCorrupted, [], at: offset), "\(text)")
    }
  }

  @Test func `errors in dictionaries and nested containers have their path`() throws {
    struct Nested: Decodable {
      init(from decoder: any Decoder) throws {
        let root = try decoder.container(keyedBy: AnyKey.self)
        let inner = try root.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("a"))
        #expect(inner.codingPath.map(\.stringValue) == ["a"])
        var list = try inner.nestedUnkeyedContainer(forKey: AnyKey("b"))
        #expect(list.codingPath.map(\.stringValue) == ["a", "b"])
        _ = try list.decode(Int.self)
        _ = try list.nestedUnkeyedContainer()
      }
    }
    let inDictionary = try failure([String: [Int]].self, #"{"a":[1],"b":[1,"x"]}"#)
    #expect(inDictionary == Failure(.typeMismatch, ["b", "Index 1"], at: 16))
    #expect(
      try failure(Nested.self, #"{"a":{"b":[1,{}]}}"#) == Failure(.typeMismatch, ["a", "b", "Index 1"], at: 13))
    #expect(try failure(Nested.self, #"{"a":{"b":[1]}}"#).kind == .valueNotFound)
    #expect(try failure(Nested.self, #"{"a":{"b":[1]}}"#).path == ["a", "b", "Index 1"])
    #expect(try failure(Nested.self, #"{"a":{}}"#) == Failure(.keyNotFound, ["a"], at: 5))
    #expect(try failure(Nested.self, #"{"a":null}"#) == Failure(.valueNotFound, ["a"], at: 5))
  }

  @Test func `the path of a model in a nested container is whole`() throws {
    struct Nested: Decodable {
      init(from decoder: any Decoder) throws {
        let root = try decoder.container(keyedBy: AnyKey.self)
        let inner = try root.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("a"))
        var list = try inner.nestedUnkeyedContainer(forKey: AnyKey("b"))
        _ = try list.decode([Int].self)
        _ = try AnyJSON(from: try list.superDecoder())
        _ = try [String: [Int]](from: try list.superDecoder())
      }
    }
    #expect(try failure([Nested].self, #"[{"a":{"b":["x"]}}]"#).path == ["Index 0", "a", "b", "Index 0"])
    let found = try failure([Nested].self, #"[{"a":{"b":[[1],[2],{"c":[3,"x"]}]}}]"#)
    #expect(found == Failure(.typeMismatch, ["Index 0", "a", "b", "Index 2", "c", "Index 1"], at: 28))
  }

  @Test func `errors of decoding names in the path are those of the program's own strategy`() throws {
    struct Nested: Decodable {
      init(from decoder: any Decoder) throws {
        let root = try decoder.container(keyedBy: AnyKey.self)
        let inner = try root.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("a"))
        #expect(inner.codingPath.map(\.stringValue) == ["a"])
        _ = try inner.decode(Int.self, forKey: AnyKey("b"))
      }
    }
    let decoder = configured { $0.keyDecodingStrategy = .custom { AnyKey($0.last?.stringValue.lowercased() ?? "") } }
    #expect(try failure(Nested.self, #"{"A":{"B":"x"}}"#, with: decoder).path == ["a", "b"])
  }

  @Test func `null is a mismatch for a Boolean also of an absent super`() throws {
    struct Model: Decodable {
      init(from decoder: any Decoder) throws {
        _ = try Bool(from: try decoder.container(keyedBy: AnyKey.self).superDecoder())
      }
    }
    #expect(try failure(Model.self, "{}").kind == .typeMismatch)
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(Model.self, from: Data("{}".utf8)) }
  }

  @Test func `errors of a scalar at the root have no path`() throws {
    #expect(try failure(Int.self, " true") == Failure(.typeMismatch, [], at: 1))
    #expect(try failure(String.self, "\n1") == Failure(.typeMismatch, [], at: 1))
    #expect(try failure([Int].self, "{}") == Failure(.typeMismatch, [], at: 0))
    #expect(try failure([String: Int].self, "[]") == Failure(.typeMismatch, [], at: 0))
    #expect(try failure(Item.self, "[]") == Failure(.typeMismatch, [], at: 0))
  }

  @Test func `an error of the model passes as it is`() throws {
    struct Own: Error, Equatable { var path: [String] }
    struct Model: Decodable {
      init(from decoder: any Decoder) throws { throw Own(path: decoder.codingPath.map(\.stringValue)) }
    }
    #expect(throws: Own(path: ["a", "Index 1"])) { try decode([String: [Model?]].self, #"{"a":[null,{}]}"#) }
    struct Thrower: Decodable {
      init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(.init(codingPath: [AnyKey("own")], debugDescription: "own"))
      }
    }
    #expect(try failure([Thrower].self, "[1]") == Failure(.dataCorrupted, ["own"], at: nil))
  }

  @Test func `a failure in a try leaves the path of later errors right`() throws {
    struct Either: Decodable {
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        _ = try? container.decode([[Item]].self, forKey: AnyKey("a"))
        _ = try? container.decode([String: Item].self, forKey: AnyKey("a"))
        #expect(decoder.codingPath.map(\.stringValue) == ["Index 1"])
        _ = try container.decode([Int].self, forKey: AnyKey("b"))
      }
    }
    struct Outer: Decodable {
      init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        _ = try list.decode(Int.self)
        _ = try list.decode(Either.self)
      }
    }
    let text = #"[0,{"a":[[{"id":1,"name":"a"},{}]],"b":[1,"x"]}]"#
    #expect(try failure(Outer.self, text) == Failure(.typeMismatch, ["Index 1", "b", "Index 1"], at: 42))
  }

  @Test func `the path of an error in a deep text is whole`() throws {
    let found = try onLargeStack {
      let text = String(repeating: #"{"a":["#, count: 250) + "true" + String(repeating: "]}", count: 250)
      return try failure(Deep.self, text)
    }
    #expect(found.path == Array(repeating: ["a", "Index 0"], count: 250).flatMap { $0 })
    #expect(found.byteOffset == 250 * 6)
  }
}

private struct Deep: Decodable {
  let a: [Deep]
}
