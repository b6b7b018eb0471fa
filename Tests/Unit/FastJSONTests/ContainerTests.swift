import FastJSON
import Foundation
import Synchronization
import Testing

private class Animal: Decodable {
  enum CodingKeys: String, CodingKey { case name }
  let name: String

  required init(from decoder: any Decoder) throws {
    name = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .name)
  }
}

/// Its members stand in the same object as those of the class it inherits from.
private final class Dog: Animal {
  enum CodingKeys: String, CodingKey { case tricks }
  let tricks: [String]

  required init(from decoder: any Decoder) throws {
    tricks = try decoder.container(keyedBy: CodingKeys.self).decode([String].self, forKey: .tricks)
    try super.init(from: decoder)
  }
}

/// The members of the class it inherits from stand in a separate object.
private final class Cat: Animal {
  enum CodingKeys: String, CodingKey { case lives, animal }
  let lives: Int

  required init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    lives = try container.decode(Int.self, forKey: .lives)
    let isNamed = container.contains(.animal)
    try super.init(from: isNamed ? container.superDecoder(forKey: .animal) : container.superDecoder())
  }
}

private final class Link: Decodable {
  let id: Int
  let next: Link?
}

private struct Tree: Decodable, Equatable {
  var id: Int
  var children: [Tree]?
}

private struct Everything: Decodable, Equatable {
  var bool: Bool?
  var string: String?
  var double: Double?
  var float: Float?
  var int: Int?
  var int8: Int8?
  var int16: Int16?
  var int32: Int32?
  var int64: Int64?
  var int128: Int128?
  var uint: UInt?
  var uint8: UInt8?
  var uint16: UInt16?
  var uint32: UInt32?
  var uint64: UInt64?
  var uint128: UInt128?
  var array: [Int]?
  var nothing: Nothing?
}

private let memberNames = [
  "bool", "string", "double", "float", "int", "int8", "int16", "int32", "int64", "int128", "uint", "uint8", "uint16",
  "uint32", "uint64", "uint128", "array",
]

/// The same values, one after the other.
private struct Row: Decodable, Equatable {
  var values = Everything()
  var count = 0

  init(from decoder: any Decoder) throws {
    var container = try decoder.unkeyedContainer()
    values.bool = try container.decodeIfPresent(Bool.self)
    values.string = try container.decodeIfPresent(String.self)
    values.double = try container.decodeIfPresent(Double.self)
    values.float = try container.decodeIfPresent(Float.self)
    values.int = try container.decodeIfPresent(Int.self)
    values.int8 = try container.decodeIfPresent(Int8.self)
    values.int16 = try container.decodeIfPresent(Int16.self)
    values.int32 = try container.decodeIfPresent(Int32.self)
    values.int64 = try container.decodeIfPresent(Int64.self)
    values.int128 = try container.decodeIfPresent(Int128.self)
    values.uint = try container.decodeIfPresent(UInt.self)
    values.uint8 = try container.decodeIfPresent(UInt8.self)
    values.uint16 = try container.decodeIfPresent(UInt16.self)
    values.uint32 = try container.decodeIfPresent(UInt32.self)
    values.uint64 = try container.decodeIfPresent(UInt64.self)
    values.uint128 = try container.decodeIfPresent(UInt128.self)
    values.array = try container.decodeIfPresent([Int].self)
    count = container.currentIndex
  }
}

@Suite struct `Containers` {
  @Test func `nested containers read what lies in them`() throws {
    struct Deep: Decodable {
      let values: [Int]
      init(from decoder: any Decoder) throws {
        let root = try decoder.container(keyedBy: AnyKey.self)
        let inner = try root.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("object"))
        var list = try inner.nestedUnkeyedContainer(forKey: AnyKey("list"))
        let first = try list.nestedContainer(keyedBy: AnyKey.self).decode(Int.self, forKey: AnyKey("a"))
        var second = try list.nestedUnkeyedContainer()
        values = [
          first, try second.decode(Int.self), try second.decode(Int.self), try list.decode(Int.self),
          try inner.decode(Int.self, forKey: AnyKey("b")), try root.decode(Int.self, forKey: AnyKey("c")),
        ]
        #expect(list.isAtEnd && second.isAtEnd)
      }
    }
    let deep = try decode(Deep.self, #"{"c":6,"object":{"b":5,"list":[{"a":1},[2,3],4]}}"#)
    #expect(deep.values == [1, 2, 3, 4, 5, 6])
  }

  @Test func `a class inherits in one object`() throws {
    let dog = try decode(Dog.self, #"{"name":"Rex","tricks":["sit"]}"#)
    #expect(dog.name == "Rex")
    #expect(dog.tricks == ["sit"])
  }

  @Test func `a class inherits through a superDecoder`() throws {
    #expect(try decode(Cat.self, #"{"lives":9,"animal":{"name":"Tom"}}"#).name == "Tom")
    #expect(try decode(Cat.self, #"{"super":{"name":"Tom"},"lives":9}"#).name == "Tom")
    #expect(try failure(Cat.self, #"{"lives":9}"#).kind == .valueNotFound)
    #expect(try failure(Cat.self, #"{"lives":9}"#).path == ["super"])
    #expect(try failure(Cat.self, #"{"lives":9,"super":{"name":1}}"#).path == ["super", "name"])
  }

  @Test func `a metatype of a subclass makes the subclass`() throws {
    let type: Animal.Type = Dog.self
    let animal = try decode(type, #"{"name":"Rex","tricks":[]}"#)
    #expect(animal is Dog)
    let plain = try decode([Animal].self, #"[{"name":"a","tricks":[]}]"#)
    #expect(plain.count == 1 && !(plain.first is Dog))
  }

  @Test func `a superDecoder of an absent member is of null`() throws {
    struct Absent: Decodable {
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        let absent = try container.superDecoder(forKey: AnyKey("none"))
        #expect(absent.codingPath.map(\.stringValue) == ["none"])
        #expect(try absent.singleValueContainer().decodeNil())
        #expect(try Optional<Int>(from: absent) == nil)
        #expect(try absent.singleValueContainer().decode(Int?.self) == nil)
        #expect(throws: DecodingError.self) { try Int(from: absent) }
        #expect(throws: DecodingError.self) { try absent.unkeyedContainer() }
        #expect(throws: DecodingError.self) { try absent.container(keyedBy: AnyKey.self) }
        #expect(try AnyJSON(from: absent) == .null)
        #expect(try absent.singleValueContainer().decode(AnyJSON.self) == .null)
      }
    }
    _ = try decode(Absent.self, "{}")
  }

  @Test func `containers on one object do not disturb each other`() throws {
    struct Shared: Decodable {
      enum First: String, CodingKey { case a, b }
      enum Second: String, CodingKey { case b, c }
      init(from decoder: any Decoder) throws {
        let one = try decoder.container(keyedBy: First.self)
        let two = try decoder.container(keyedBy: First.self)
        let three = try decoder.container(keyedBy: Second.self)
        #expect(try one.decode(Int.self, forKey: .b) == 2)
        #expect(try three.decode(Int.self, forKey: .c) == 3)
        #expect(try two.decode(Int.self, forKey: .a) == 1)
        #expect(try three.decode(Int.self, forKey: .b) == 2)
        #expect(try one.decode(Int.self, forKey: .a) == 1)
        #expect(one.allKeys == [.a, .b] && three.allKeys == [.b, .c])
      }
    }
    let object = #"{"a":1,"b":2,"c":3}"#
    _ = try decode([Shared].self, "[\(object),\(object)]")
  }

  @Test func `many containers of one key type are alive at once`() throws {
    struct Many: Decodable {
      init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        var containers: [KeyedDecodingContainer<AnyKey>] = []
        while !list.isAtEnd { containers.append(try list.nestedContainer(keyedBy: AnyKey.self)) }
        for _ in 0..<2 {
          let values = try containers.map { try $0.decode(Int.self, forKey: AnyKey("a")) }
          #expect(values == Array(0..<containers.count))
        }
      }
    }
    let decoder = FastJSONDecoder()
    for count in [1, 4, 5, 64, 65, 300] {
      let text = "[" + (0..<count).map { "{\"a\":\($0)}" }.joined(separator: ",") + "]"
      _ = try decode(Many.self, text, with: decoder)
    }
  }

  @Test(arguments: [1, 64, 65, 100, 500]) func `a model may nest in itself`(depth: Int) throws {
    let ids = try onLargeStack {
      let text = (1..<depth).reversed().reduce("{\"id\":\(depth)}") { "{\"next\":\($0),\"id\":\($1)}" }
      var ids: [Int] = []
      var link: Link? = try decode(Link.self, text)
      while let one = link {
        ids.append(one.id)
        link = one.next
      }
      return ids
    }
    #expect(ids == Array(1...depth))
  }

  @Test func `a tree is read whole`() throws {
    func tree(_ depth: Int) -> (text: String, tree: Tree) {
      guard depth > 0 else { return ("{\"id\":0}", Tree(id: 0)) }
      let inner = tree(depth - 1)
      let text = "{\"id\":\(depth),\"children\":[\(inner.text),\(inner.text),{\"children\":[],\"id\":-1}]}"
      return (text, Tree(id: depth, children: [inner.tree, inner.tree, Tree(id: -1, children: [])]))
    }
    let (text, expected) = tree(10)
    #expect(try decode(Tree.self, text) == expected)
  }

  @Test func `an element that fails, or is not null, is not passed`() throws {
    struct Careful: Decodable {
      init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        let isFirstNull = try list.decodeNil()
        #expect(list.count == 3 && list.currentIndex == 0 && !isFirstNull)
        #expect(throws: DecodingError.self) { try list.decode(String.self) }
        #expect(throws: DecodingError.self) { try list.decode([Int].self) }
        #expect(throws: DecodingError.self) { try list.nestedUnkeyedContainer() }
        #expect(throws: DecodingError.self) { try list.nestedContainer(keyedBy: AnyKey.self) }
        #expect(throws: DecodingError.self) { try list.decodeIfPresent(String.self) }
        let first = try list.decode(Int.self)
        let isSecondNull = try list.decodeNil()
        #expect(first == 1 && isSecondNull && list.currentIndex == 2 && !list.isAtEnd)
        let third = try list.decodeIfPresent(Int.self)
        #expect(third == nil && list.isAtEnd && list.currentIndex == 3)
        #expect(throws: DecodingError.self) { try list.decode(Int.self) }
        #expect(throws: DecodingError.self) { try list.decodeNil() }
        #expect(throws: DecodingError.self) { try list.superDecoder() }
        let fourth = try list.decodeIfPresent(Int.self)
        #expect(fourth == nil)
      }
    }
    _ = try decode(Careful.self, "[1,null,null]")
  }

  @Test func `the elements' own decoders read one each`() throws {
    struct Lossy: Decodable {
      var values: [Int] = []
      init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        while !list.isAtEnd {
          let element = try list.superDecoder()
          if let value = try? Int(from: element) { values.append(value) }
        }
      }
    }
    #expect(try decode(Lossy.self, #"[1,"x",null,{"a":[2]},3,[4],5.5,6]"#).values == [1, 3, 6])
  }

  @Test func `an absent member and a null one are nil, of each type`() throws {
    #expect(try decode(Everything.self, "{}") == Everything())
    let nulls = "{" + (memberNames + ["nothing"]).map { "\"\($0)\":null" }.joined(separator: ",") + "}"
    #expect(try decode(Everything.self, nulls) == Everything())
  }

  @Test func `a member that is there is decoded, of each type`() throws {
    let numbers = memberNames.filter { $0.contains("int") || $0 == "double" || $0 == "float" }
    let text =
      #"{"bool":true,"string":"x","array":[7],"# + numbers.map { "\"\($0)\":7" }.joined(separator: ",") + "}"
    let expected = Everything(
      bool: true, string: "x", double: 7, float: 7, int: 7, int8: 7, int16: 7, int32: 7, int64: 7, int128: 7, uint: 7,
      uint8: 7, uint16: 7, uint32: 7, uint64: 7, uint128: 7, array: [7])
    #expect(try decode(Everything.self, text) == expected)
  }

  @Test(arguments: memberNames) func `a member of the wrong type is refused`(name: String) throws {
    let offset = name.utf8.count + 4
    #expect(try failure(Everything.self, "{\"\(name)\":{}}") == Failure(.typeMismatch, [name], at: offset))
    #expect(try failure(Everything.self, "{\"\(name)\":\(name == "bool" ? "1" : "true")}").kind == .typeMismatch)
  }

  @Test func `elements that are absent, null or there, of each type`() throws {
    let count = memberNames.count
    #expect(try decode(Row.self, "[]").count == 0)
    let nulls = try decode(Row.self, "[" + Array(repeating: "null", count: count).joined(separator: ",") + "]")
    #expect(nulls.values == Everything())
    #expect(nulls.count == count)
    let full = try decode(Row.self, #"[true,"x",7,7,7,7,7,7,7,7,7,7,7,7,7,7,[7]]"#)
    #expect(full.values.bool == true && full.values.string == "x" && full.values.uint128 == 7)
    #expect(full.values.array == [7])
    #expect(full.count == count)
  }

  @Test(arguments: 0..<17) func `an element of the wrong type is refused`(index: Int) throws {
    let elements = (0..<17).map { $0 == index ? "{}" : "null" }
    let error = try failure(Row.self, "[" + elements.joined(separator: ",") + "]")
    #expect(error == Failure(.typeMismatch, ["Index \(index)"], at: 1 + index * 5))
  }

  @Test func `a model that throws in the middle leaks nothing`() throws {
    #expect(throws: Stop.self) { try decode([Counted].self, "[1,2,3,-1,4]") }
    #expect(throws: Stop.self) { try decode([[Counted]].self, "[[1,2],[3,-1]]") }
    #expect(throws: Stop.self) { try decode([String: Counted].self, #"{"a":1,"b":2,"c":-1}"#) }
    #expect(throws: DecodingError.self) { try decode([Counted].self, #"[1,2,"x"]"#) }
    let alive = Counted.alive.load(ordering: .relaxed)
    #expect(alive == 0)
    let kept = try decode([Counted].self, "[1,2,3]")
    let stillAlive = Counted.alive.load(ordering: .relaxed)
    #expect(stillAlive == 3)
    #expect(kept.map(\.value) == [1, 2, 3])
  }

  @Test func `enums are decoded as the compiler synthesizes them`() throws {
    enum Shape: Decodable, Equatable {
      case circle(radius: Double)
      case square(Int)
      case empty
    }
    let shapes = try decode([Shape].self, #"[{"circle":{"radius":1.5}},{"square":{"_0":2}},{"empty":{}}]"#)
    #expect(shapes == [.circle(radius: 1.5), .square(2), .empty])
    #expect(isRefused(Shape.self, "{}"))
    #expect(isRefused(Shape.self, #"{"circle":{"radius":1},"empty":{}}"#))
    #expect(isRefused(Shape.self, #"{"other":{}}"#))
  }
}

private struct Stop: Error {}

private final class Counted: Decodable {
  static let alive = Atomic<Int>(0)
  let value: Int

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer().decode(Int.self)
    guard value >= 0 else { throw Stop() }
    self.value = value
    Self.alive.wrappingAdd(1, ordering: .relaxed)
  }

  deinit { Self.alive.wrappingSubtract(1, ordering: .relaxed) }
}
