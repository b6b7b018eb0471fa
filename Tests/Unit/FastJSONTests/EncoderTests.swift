import FastJSON
import Foundation
import Synchronization
import Testing

private struct Point: Codable, Equatable {
  var x: Int
  var y: Double?
}

private class Animal: Encodable {
  var name = "Rex"
  enum CodingKeys: String, CodingKey { case name }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
  }
}

private final class Dog: Animal {
  var usesSuperEncoder = true
  enum CodingKeys: String, CodingKey { case tricks }
  override func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(["sit", "roll"], forKey: .tricks)
    try super.encode(to: usesSuperEncoder ? container.superEncoder() : encoder)
  }
}

/// Encodes itself by a closure.
private struct Custom: Encodable {
  let body: (any Encoder) throws -> Void
  func encode(to encoder: any Encoder) throws { try body(encoder) }
}

@Suite struct `Encoding of values` {
  @Test func `members stand in the order in which the model encodes them`() throws {
    struct Unsorted: Encodable { var z = 1, a = 2, m = [Point(x: 3, y: nil)] }
    let data = try FastJSONEncoder().encode(Unsorted())
    #expect(String(decoding: data, as: UTF8.self) == #"{"z":1,"a":2,"m":[{"x":3}]}"#)
  }

  @Test func `fragments are texts`() throws {
    #expect(try encode(5) == "5")
    #expect(try encode("a/b") == #""a/b""#)
    #expect(try encode(Int?.none) == "null")
    #expect(try encode([Int]()) == "[]")
    #expect(try encode(URL(string: "https://a.b/c")) == #""https://a.b/c""#)
  }

  @Test func `a class and its superclass make one object, or two`() throws {
    let dog = Dog()
    #expect(try encode(dog) == #"{"super":{"name":"Rex"},"tricks":["sit","roll"]}"#)
    dog.usesSuperEncoder = false
    #expect(try encode(dog) == #"{"name":"Rex","tricks":["sit","roll"]}"#)
  }

  @Test func `an encoder that is asked twice for a container has one`() throws {
    let value = Custom { encoder in
      var first = encoder.container(keyedBy: AnyKey.self)
      var second = encoder.container(keyedBy: AnyKey.self)
      try second.encode(1, forKey: AnyKey("b"))
      try first.encode(2, forKey: AnyKey("a"))
      var list = first.nestedUnkeyedContainer(forKey: AnyKey("list"))
      try list.encode(3)
      var same = second.nestedUnkeyedContainer(forKey: AnyKey("list"))
      try same.encode(4)
      try list.encode(5)
    }
    #expect(try encode(value) == #"{"a":2,"b":1,"list":[3,4,5]}"#)
  }

  @Test func `an array that was encoded whole is continued by a container of its place`() throws {
    let values = [
      Custom { encoder in
        var container = encoder.container(keyedBy: AnyKey.self)
        try container.encode([1, 2], forKey: AnyKey("a"))
        var list = container.nestedUnkeyedContainer(forKey: AnyKey("a"))
        try list.encode(3)
      },
      Custom { encoder in
        var container = encoder.singleValueContainer()
        try container.encode(["x,y"])
        var list = encoder.unkeyedContainer()
        try list.encode("z")
      },
      Custom { encoder in
        var container = encoder.singleValueContainer()
        try container.encode([Int]())
        var list = encoder.unkeyedContainer()
        try list.encode(true)
      },
    ]
    for value in values {
      let (expected, found) = encodings([value])
      #expect(found == expected)
    }
  }

  @Test func `of members with one name the last counts`() throws {
    let value = Custom { encoder in
      var container = encoder.container(keyedBy: AnyKey.self)
      for number in 0..<100 { try container.encode(number, forKey: AnyKey("\(number % 40)")) }
      // Equal as strings are: the first one's bytes stay.
      try container.encode(1, forKey: AnyKey("e\u{301}"))
      try container.encode(2, forKey: AnyKey("\u{E9}"))
      try container.encode(3, forKey: AnyKey("\u{212A}"))
      try container.encode(4, forKey: AnyKey("K"))
    }
    let (expected, found) = encodings(value)
    #expect(found == expected)
    let unsorted = try FastJSONDecoder().decode([String: Int].self, from: FastJSONEncoder().encode(value))
    #expect(unsorted.count == 42 && unsorted["19"] == 99 && unsorted["K"] == 4)
  }

  @Test func `a member that throws is left out when the model goes on`() throws {
    struct Failing: Error {}
    let value = Custom { encoder in
      var container = encoder.container(keyedBy: AnyKey.self)
      try container.encode(1, forKey: AnyKey("a"))
      let failing = Custom { encoder in
        var inner = encoder.unkeyedContainer()
        try inner.encode(7)
        throw Failing()
      }
      #expect(throws: Failing.self) { try container.encode(failing, forKey: AnyKey("é")) }
      #expect(throws: EncodingError.self) { try container.encode(Double.nan, forKey: AnyKey("é")) }
      try container.encode(2, forKey: AnyKey("b"))
    }
    #expect(try encode(value) == #"{"a":1,"b":2}"#)
  }

  @Test func `a value that encodes nothing is an empty object, and no text by itself`() throws {
    let nothing = Custom { _ in }
    #expect(try encode([nothing]) == "[{}]")
    let (expected, found) = encodings(nothing)
    #expect(expected == .invalidValue(path: []) && found == expected)
  }

  @Test func `userInfo reaches the model`() throws {
    guard let key = CodingUserInfoKey(rawValue: "key") else { return }
    let value = Custom { encoder in try (encoder.userInfo[key] as? String).encode(to: encoder) }
    #expect(try encode(value) { $0.userInfo = [key: "here"] } == #""here""#)
  }

  @Test func `a configuration reaches the model`() throws {
    struct Configured: EncodableWithConfiguration {
      func encode(to encoder: any Encoder, configuration: Int) throws { try [configuration].encode(to: encoder) }
    }
    #expect(try FastJSONEncoder().encode(Configured(), configuration: 7) == Data("[7]".utf8))
  }

  @Test func `what was encoded is decoded`() throws {
    let points = (0..<100).map { Point(x: $0, y: $0 % 3 == 0 ? nil : Double($0) / 7) }
    #expect(try FastJSONDecoder().decode([Point].self, from: FastJSONEncoder().encode(points)) == points)
  }
}

@Suite struct `Strategies of encoding` {
  @Test(arguments: [
    "", "a", "A", "aB", "oneTwoThree", "_oneTwo_", "myURLProperty", "URL", "aURL", "ABc", "x1Y2z", "éÀb", "aÉÀ",
    "already_snake", "ÀÉé", "a😀B", "singleX", "WITHCaps", "e\u{301}E\u{301}a", "\u{1C5}a\u{1C5}b", "__", "a__bC",
  ]) func `snake case is that of JSONEncoder`(name: String) throws {
    let value = Custom { encoder in
      var container = encoder.container(keyedBy: AnyKey.self)
      try container.encode(1, forKey: AnyKey(name))
    }
    let (expected, found) = encodings(value) { $0.keyEncodingStrategy = .convertToSnakeCase }
    #expect(found == expected)
  }

  @Test func `names that are equal as text keep their own bytes in snake case`() throws {
    let encoder = FastJSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    for name in ["\u{E9}Bc", "e\u{301}Bc"] {
      let value = Custom { encoder in
        var container = encoder.container(keyedBy: AnyKey.self)
        try container.encode(1, forKey: AnyKey(name))
      }
      let (expected, _) = encodings(value) { $0.keyEncodingStrategy = .convertToSnakeCase }
      #expect(Encoded { try encoder.encode(value) } == expected)
    }
  }

  @Test func `keys of dictionaries with names are not converted, and others are`() throws {
    let (expected, found) = encodings([["aB": 1], ["cD": 2]]) { $0.keyEncodingStrategy = .convertToSnakeCase }
    #expect(found == expected && found == .text(Data(#"[{"aB":1},{"cD":2}]"#.utf8)))
    let (numbers, foundNumbers) = encodings([1: "a"]) { $0.keyEncodingStrategy = .custom { _ in AnyKey("x") } }
    #expect(foundNumbers == numbers)
  }

  @Test func `a custom key strategy gets the whole path`() throws {
    struct Outer: Encodable { var list = [Point(x: 1, y: nil)] }
    let paths = Mutex<[[String]]>([])
    _ = try encode(Outer()) {
      $0.keyEncodingStrategy = .custom { path in
        paths.withLock { $0.append(path.map(\.stringValue)) }
        return path[path.count - 1]
      }
    }
    #expect(paths.withLock { $0 } == [["list", "Index 0", "x"], ["list"]])
  }

  @Test(arguments: [
    -63_114_076_800, -0.001, 0, 0.999_999, 1_234.5, 252_423_993_599.5, 252_423_993_600, -12_622_780_801,
  ])
  func `dates are those of JSONEncoder`(seconds: Double) {
    let date = Date(timeIntervalSinceReferenceDate: seconds)
    for strategy in [
      JSONEncoder.DateEncodingStrategy.deferredToDate, .secondsSince1970, .millisecondsSince1970, .iso8601,
      .custom { date, encoder in try [date.timeIntervalSince1970].encode(to: encoder) }, .custom { _, _ in },
    ] {
      let (expected, found) = encodings(["date": date]) { $0.dateEncodingStrategy = strategy }
      #expect(found == expected)
    }
  }

  @Test func `data is that of JSONEncoder`() {
    for strategy in [
      JSONEncoder.DataEncodingStrategy.base64, .deferredToData, .custom { _, _ in },
      .custom { data, encoder in try data.count.encode(to: encoder) },
    ] {
      let (expected, found) = encodings([Data([255, 254, 0]), Data()]) { $0.dataEncodingStrategy = strategy }
      #expect(found == expected)
    }
  }

  @Test(arguments: [Double.infinity, -.infinity, .nan])
  func `numbers that are not finite are refused, or strings`(number: Double) {
    let (expected, found) = encodings(["a": ["b": number]])
    #expect(found == expected && found == .invalidValue(path: ["a", "b"]))
    let (texts, foundTexts) = encodings([number, 1]) {
      $0.nonConformingFloatEncodingStrategy = .convertToString(positiveInfinity: "+", negativeInfinity: "-", nan: "?")
    }
    #expect(foundTexts == texts)
    let (date, foundDate) = encodings(["x": Date(timeIntervalSince1970: number)]) {
      $0.dateEncodingStrategy = .secondsSince1970
      $0.nonConformingFloatEncodingStrategy = .convertToString(positiveInfinity: "+", negativeInfinity: "-", nan: "?")
    }
    #expect(foundDate == date && foundDate == .invalidValue(path: ["x"]))
  }

  @Test func `an encoder has the properties of the one it was made from`() throws {
    let encoder = FastJSONEncoder(foundationEncoder { $0.dateEncodingStrategy = .iso8601 })
    #expect(encoder.outputFormatting == .sortedKeys)
    #expect(try encoder.encode(Date(timeIntervalSince1970: 0)) == Data(#""1970-01-01T00:00:00Z""#.utf8))
    encoder.outputFormatting = .prettyPrinted
    encoder.dateEncodingStrategy = .secondsSince1970
    #expect(try encoder.encode([Date(timeIntervalSince1970: 0)]) == Data("[\n  0\n]".utf8))
  }

  @Test func `a subclass of JSONEncoder encodes by itself`() throws {
    final class Own: JSONEncoder, @unchecked Sendable {
      override func encode<T: Encodable>(_ value: T) throws -> Data { Data("own".utf8) }
    }
    #expect(try FastJSONEncoder.encoding(as: Own())(1) == Data("own".utf8))
    #expect(try FastJSONEncoder.encoding(as: JSONEncoder())(1) == Data("1".utf8))
  }
}

@Suite struct `Faults of encoding` {
  @Test func `an error has the path of JSONEncoder's`() {
    struct Model: Encodable { var list = [["a": [1.5, .nan]]] }
    let (expected, found) = encodings(Model())
    #expect(found == expected && found == .invalidValue(path: ["list", "Index 0", "a", "Index 1"]))
    struct Member: Encodable { var number = Float.infinity }
    let (member, foundMember) = encodings([Member()])
    #expect(foundMember == member && foundMember == .invalidValue(path: ["Index 0", "number"]))
  }

  @Test func `the error of a model is passed on`() {
    struct Own: Error {}
    #expect(throws: Own.self) { try FastJSONEncoder().encode([Custom { _ in throw Own() }]) }
  }

  @Test func `a path in a nested container has all of its keys`() {
    let value = Custom { encoder in
      var outer = encoder.container(keyedBy: AnyKey.self)
      var inner = outer.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("outer"))
      try inner.encode(Double.nan, forKey: AnyKey("inner"))
    }
    #expect(Encoded { try FastJSONEncoder().encode(["x": value]) } == .invalidValue(path: ["x", "outer", "inner"]))
  }

  @Test func `containers and encoders know their paths`() throws {
    var paths: [[String]] = []
    let value = Custom { encoder in
      var object = encoder.container(keyedBy: AnyKey.self)
      var list = object.nestedUnkeyedContainer(forKey: AnyKey("list"))
      try list.encodeNil()
      let inner = list.nestedContainer(keyedBy: AnyKey.self)
      paths += [encoder, object.superEncoder(forKey: AnyKey("s"))].map { $0.codingPath.map(\.stringValue) }
      paths += [object.codingPath, list.codingPath, inner.codingPath].map { $0.map(\.stringValue) }
    }
    _ = try FastJSONEncoder().encode([["k": value]])
    let root = ["Index 0", "k"]
    #expect(paths == [root, root + ["s"], root, root + ["list"], root + ["list", "Index 1"]])
  }

  @Test func `511 levels are encoded, and one more is an error, as with JSONEncoder`() throws {
    for (levels, isValid) in [(511, true), (512, false)] {
      let outcomes = try onLargeStack {
        var value = AnyJSON.null
        for level in 0..<levels { value = level % 2 == 0 ? .array([value]) : .object(["a": value]) }
        let (expected, found) = encodings(Nested(value: value))
        return (expected == found, found == .invalidValue(path: []))
      }
      #expect(outcomes == (true, !isValid))
    }
    let equal = try onLargeStack {
      var value = AnyJSON.null
      for _ in 0..<510 { value = .array([value]) }
      let list = Custom { encoder in
        var container = encoder.unkeyedContainer()
        try container.encode(Nested(value: value))
        var inner: any UnkeyedEncodingContainer = encoder.unkeyedContainer()
        for _ in 0..<511 { inner = inner.nestedUnkeyedContainer() }
        try inner.encode([1])
      }
      let (expected, found) = encodings(list)
      return expected == found
    }
    #expect(equal)
  }

  @Test func `a model without an end is an error, even if it catches it`() throws {
    struct Endless: Encodable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try? container.encode(Endless())
      }
    }
    let outcome = try onLargeStack { Encoded { try FastJSONEncoder().encode(Endless()) } }
    #expect(outcome == .invalidValue(path: []))
  }

  @Test func `a value that is encoded in two ways is an error`() {
    let values = [
      Custom { encoder in
        _ = encoder.unkeyedContainer()
        _ = encoder.container(keyedBy: AnyKey.self)
      },
      Custom { encoder in
        var container = encoder.singleValueContainer()
        try container.encode(1)
        try container.encode(2)
      },
      Custom { encoder in
        var container = encoder.container(keyedBy: AnyKey.self)
        try container.encode(1, forKey: AnyKey("a"))
        _ = container.nestedUnkeyedContainer(forKey: AnyKey("a"))
      },
    ]
    for value in values {
      #expect(Encoded { try FastJSONEncoder().encode([value]) } == .invalidValue(path: []))
    }
  }

  @Test func `a Decimal that is no number is refused`() {
    #expect(Encoded { try FastJSONEncoder().encode(["a": Decimal.nan]) } == .invalidValue(path: ["a"]))
  }

  @Test func `an encoder that a model keeps writes nowhere once the call is over`() throws {
    let kept = Box<[Handed<any Encoder>]>([])
    let value = Custom { encoder in
      let handed = Handed<any Encoder>(value: encoder)
      kept.update { $0.append(handed) }
      try 1.encode(to: encoder)
    }
    #expect(try encode([value, value]) == "[1,1]")
    for encoder in kept.value {
      var container = encoder.value.singleValueContainer()
      try container.encode("late")
      #expect(encoder.value.codingPath.isEmpty)
    }
    let others = kept.value
    let meanwhile = Custom { encoder in
      var container = encoder.unkeyedContainer()
      try container.encode([1])
      for other in others {
        var late = other.value.unkeyedContainer()
        try? late.encode("late")
      }
      try container.encode([2])
    }
    #expect(try encode([[meanwhile]]) == "[[[[1],[2]]]]")
  }

  @Test func `many tasks use one encoder`() async throws {
    let encoder = FastJSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let points = (0..<50).map { Point(x: $0, y: 0.5) }
    let expected = try foundationEncoder().encode(points)
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 {
        group.addTask { (0..<50).allSatisfy { _ in (try? encoder.encode(points)) == expected } }
      }
      for await isEqual in group { #expect(isEqual) }
    }
  }
}

private struct Nested: Encodable, Sendable {
  let value: AnyJSON

  func encode(to encoder: any Encoder) throws {
    switch value {
    case .array(let elements): try elements.map(Nested.init).encode(to: encoder)
    case .object(let members): try members.mapValues(Nested.init).encode(to: encoder)
    default:
      var container = encoder.singleValueContainer()
      try container.encodeNil()
    }
  }
}
