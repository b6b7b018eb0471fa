import Foundation
import Testing

@testable import FastJSON

private enum Keys: String, CodingKey { case id, list, inner }

/// The ways in which a model comes to an element of a list.
enum Way: CaseIterable, Sendable {
  case decoder, object, list, element
}

/// Tries each element of a list as a number, in one of several ways, and keeps the paths of the
/// errors.
private struct Failing: Decodable {
  static let way = CodingUserInfoKey(rawValue: "way")
  var paths: [[String]] = []
  var offsets: [Int?] = []

  init(from decoder: any Decoder) throws {
    let key = try #require(Self.way)
    let way = try #require(decoder.userInfo[key] as? Way)
    var list = try decoder.unkeyedContainer()
    while !list.isAtEnd {
      do {
        try Self.read(&list, way)
      } catch let error as DecodingError {
        let failure = Failure(error)
        paths.append(failure.path)
        offsets.append(failure.byteOffset)
        // A failure does not pass the element.
        if way == .element { _ = try list.superDecoder() }
      }
    }
  }

  private static func read(_ list: inout any UnkeyedDecodingContainer, _ way: Way) throws {
    switch way {
    case .decoder: _ = try list.superDecoder().singleValueContainer().decode(Int.self)
    case .object: _ = try list.nestedContainer(keyedBy: Keys.self).decode(Int.self, forKey: .id)
    case .list:
      var inner = try list.nestedUnkeyedContainer()
      _ = try inner.decode(Int.self)
    case .element: _ = try list.decode(Int.self)
    }
  }

  static func decode(_ text: String, _ way: Way) throws -> Failing {
    let key = try #require(Self.way)
    return try FastJSONTests.decode(Failing.self, text, with: configured { $0.userInfo = [key: way] })
  }
}

/// Tries each member of an object as an object with a number.
private struct FailingMembers: Decodable {
  var paths: [[String]] = []

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: AnyKey.self)
    for key in container.allKeys {
      do {
        _ = try container.nestedContainer(keyedBy: Keys.self, forKey: key).decode(Int.self, forKey: .id)
      } catch let error as DecodingError {
        paths.append(Failure(error).path)
      }
      do {
        _ = try Int(from: container.superDecoder(forKey: key))
      } catch let error as DecodingError {
        paths.append(Failure(error).path)
      }
    }
  }
}

/// Keeps a decoder of each element.
private struct Keeping: Decodable {
  var elements: [any Decoder] = []

  init(from decoder: any Decoder) throws {
    var list = try decoder.unkeyedContainer()
    while !list.isAtEnd { elements.append(try list.superDecoder()) }
  }
}

/// A value that decodes the value around it again.
private struct Again: Decodable {
  let path: [String]

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Keys.self)
    if let list = try container.decodeIfPresent([Again].self, forKey: .list) {
      path = list.last?.path ?? []
    } else {
      let inner = try container.superDecoder(forKey: .inner)
      do {
        path = try inner.container(keyedBy: Keys.self).decode([String].self, forKey: .id)
      } catch let error as DecodingError {
        path = Failure(error).path
      }
    }
  }
}

@Suite struct `Paths` {
  @Test(arguments: Way.allCases) func `100,000 elements fail one by one`(way: Way) throws {
    let text =
      "[" + Array(repeating: way == .list ? #"["x"]"# : #"{"id":"x"}"#, count: 100_000).joined(separator: ",") + "]"
    let failing = try Failing.decode(text, way)
    #expect(failing.paths.count == 100_000)
    let rest: [String] =
      switch way {
      case .decoder, .element: []
      case .object: ["id"]
      case .list: ["Index 0"]
      }
    for number in [0, 1, 50_000, 99_999] { #expect(failing.paths[number] == ["Index \(number)"] + rest) }
    let width = way == .list ? 6 : 11
    let start = way == .list ? 2 : way == .object ? 7 : 1
    #expect(failing.offsets[99_999] == start + 99_999 * width)
  }

  @Test func `100,000 members fail one by one`() throws {
    let members = (0..<100_000).map { #""n\#($0)":{"id":"x"}"# }
    let failing = try decode([String: FailingMembers].self, #"{"a":{\#(members.joined(separator: ","))}}"#)
    let paths = try #require(failing["a"]).paths
    #expect(paths.count == 200_000)
    #expect(paths[199_998] == ["a", "n99999", "id"] && paths[199_999] == ["a", "n99999"])
    #expect(paths[3] == ["a", "n1"])
  }

  @Test func `100,000 kept decoders fail one by one`() throws {
    let text = "[" + Array(repeating: #"[{"id":"x"}]"#, count: 100_000).joined(separator: ",") + "]"
    let kept = try decode([String: Keeping].self, #"{"a":\#(text)}"#)
    for (number, element) in try #require(kept["a"]).elements.enumerated() {
      do {
        _ = try [[String: Int]](from: element)
        Issue.record("a string is no number")
      } catch let error as DecodingError {
        let path = Failure(error).path
        if path != ["a", "Index \(number)", "Index 0", "id"] { Issue.record("\(path)") }
      }
    }
  }

  @Test(arguments: [1, 100, 10_000]) func `a path takes as many steps as it has keys`(count: Int) throws {
    let filler = Array(repeating: #"{"a":[1,{}],"b":"x"}"#, count: count - 1) + [""]
    let names = (0..<count).map { #""n\#($0)":0,"# }.joined()
    let text = #"[\#(filler.joined(separator: ","))[{\#(names)"id":[[],{"inner":7}]}]]"#
    let session = Session()
    try Array(text.utf8).withUnsafeBytes { try session.begin($0, .standard) }
    let tape = session.core.pointee.tape
    var list = try ElementContainer(session, Position(index: tape.root, container: 0))
    for _ in 1..<count { _ = try list.superDecoder() }
    var outer = try list.nestedUnkeyedContainer()
    let object = try outer.nestedContainer(keyedBy: Keys.self)
    var inner = try object.nestedUnkeyedContainer(forKey: .id)
    _ = try inner.superDecoder()
    let last = try #require(try inner.superDecoder() as? TapeDecoder)
    let steps = tape.positions(around: last.position)
    #expect(steps.count == 4)
    #expect(last.codingPath.map(\.stringValue) == ["Index \(count - 1)", "Index 0", "id", "Index 1"])
    #expect(inner.codingPath.map(\.stringValue) == ["Index \(count - 1)", "Index 0", "id"])
  }

  @Test func `a scalar that is requested as a container has its path`() throws {
    let text = #"{"a":[1,"x",null]}"#
    struct Model: Decodable {
      var failures: [Failure] = []
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        var list = try container.nestedUnkeyedContainer(forKey: AnyKey("a"))
        while !list.isAtEnd {
          let element = try list.superDecoder()
          for body in [
            { _ = try element.container(keyedBy: Keys.self) }, { _ = try element.unkeyedContainer() },
            { _ = try [String: Int](from: element) }, { _ = try [[Int]](from: element) },
            { _ = try element.singleValueContainer().decode([Double].self) }, { _ = try Bool(from: element) },
            { _ = try element.singleValueContainer().decode(URL.self) },
          ] as [() throws -> Void] {
            do { try body() } catch let error as DecodingError { failures.append(Failure(error)) }
          }
        }
      }
    }
    let failures = try decode([String: Model].self, #"{"k":\#(text)}"#)["k"]?.failures ?? []
    // "x" is a URL.
    #expect(failures.count == 20)
    #expect(failures.prefix(7).allSatisfy { $0.path == ["k", "a", "Index 0"] && $0.byteOffset == 11 })
    #expect(failures.dropFirst(7).prefix(6).allSatisfy { $0.path == ["k", "a", "Index 1"] && $0.byteOffset == 13 })
    #expect(failures.suffix(7).allSatisfy { $0.path == ["k", "a", "Index 2"] && $0.byteOffset == 17 })
  }

  @Test func `names of a dictionary are in a path as they stand in the text`() throws {
    let decoder = configured { $0.keyDecodingStrategy = .convertFromSnakeCase }
    let error = try failure([String: [String: Int]].self, #"{"a_b":{"x":1,"c_d":true}}"#, with: decoder)
    #expect(error == Failure(.typeMismatch, ["a_b", "c_d"], at: 20))
    let nested = try failure([String: [[String: [Int]]]].self, #"{"a_b":[{},{"c_d":[1,null]}]}"#, with: decoder)
    #expect(nested == Failure(.valueNotFound, ["a_b", "Index 1", "c_d", "Index 1"], at: 21))
  }

  @Test func `a model that decodes a value around it has each key once`() throws {
    struct Twice: Decodable {
      static let key = CodingUserInfoKey(rawValue: "outer")
      let path: [String]
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        if container.contains(.inner) {
          path = try Outer.read(decoder, container)
        } else {
          path = decoder.codingPath.map(\.stringValue)
        }
      }
      enum Outer {
        static func read(_ decoder: any Decoder, _ container: KeyedDecodingContainer<Keys>) throws -> [String] {
          struct Same: Decodable {
            let path: [String]
            init(from decoder: any Decoder) throws {
              path = try decoder.container(keyedBy: Keys.self).decode(Twice.self, forKey: .inner).path
            }
          }
          return try decoder.singleValueContainer().decode(Same.self).path
        }
      }
    }
    let model = try decode([String: Twice].self, #"{"k":{"inner":{"inner":{"id":1}}}}"#)
    #expect(model["k"]?.path == ["k", "inner", "inner"])
  }

  @Test func `an error deep in what is tried has the keys that lead to it`() throws {
    let again = try decode(Again.self, #"{"list":[{"inner":{}},{"list":[{"inner":{"id":["a",1]}}]}]}"#)
    #expect(again.path == ["list", "Index 1", "list", "Index 0", "inner", "id", "Index 1"])
  }
}
