import Foundation

/// A model by hand: nested containers, in its own order.
struct Nested: Decodable {
  var log: [String] = []

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: AnyKey.self)
    log.append("contains \(container.contains(AnyKey("list"))) \(container.contains(AnyKey("none")))")
    let inner = try container.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("inner"))
    var list = try container.nestedUnkeyedContainer(forKey: AnyKey("list"))
    log.append("at \(names(inner.codingPath)), \(names(list.codingPath)), \(list.count ?? -1)")
    while !list.isAtEnd {
      if try list.decodeNil() { continue }
      log.append("\(list.currentIndex): \(try list.decode(Int.self))")
    }
    for key in inner.sortedKeys {
      log.append("\(key.stringValue): \(try inner.decode([Int].self, forKey: key))")
    }
    log.append("id \(render(try container.decodeIfPresent(Int.self, forKey: AnyKey("id"))))")
  }

  static let schema = Schema.object([
    ("list", .array(.optional(.integer))), ("inner", .dictionary(.array(.integer))), ("id", .optional(.integer)),
  ])
}

/// Elements of several types, read from one container. A failure does not pass the element.
struct Mixed: Decodable {
  var log: [String] = []

  init(from decoder: any Decoder) throws {
    var list = try decoder.unkeyedContainer()
    log.append("id \(try list.decode(Int.self))")
    // The row *an optional past the end*: Foundation counts it.
    if !list.isAtEnd { log.append("name \(render(try list.decodeIfPresent(String.self)))") }
    note("wrong") { try list.decode(Bool.self) }
    log.append("\(list.currentIndex) \(list.isAtEnd)")
    let object = try list.nestedContainer(keyedBy: AnyKey.self)
    note("object") { try object.decode(Int.self, forKey: AnyKey("id")) }
    var inner = try list.nestedUnkeyedContainer()
    while !inner.isAtEnd { note("inner") { try inner.superDecoder().codingPath.map(\.stringValue) } }
    note("past the end") { try inner.decode(Int.self) }
    note("null past the end") { try inner.decodeNil() }
    note("optional past the end") { try inner.decodeIfPresent(Int.self) }
    log += Probe.log(of: try list.superDecoder(), budget: 4)
    log.append("\(list.currentIndex) \(list.isAtEnd) \(names(list.codingPath))")
    note("rest") { try list.decode(Sparse.self) }
  }

  private mutating func note<Value>(_ label: String, _ body: () throws -> Value) {
    log.append("\(label) \(attempt(body))")
  }

  static let schema = Schema.tuple([
    .integer, .optional(.string), .object([("id", .integer)]), .array(.any), .any, Sparse.schema,
  ])
}

/// Leaves out the elements that are of another type.
struct Lossy: Decodable {
  var models: [Snake] = []
  var log: [String] = []

  init(from decoder: any Decoder) throws {
    struct Skipped: Decodable {}
    var list = try decoder.unkeyedContainer()
    while !list.isAtEnd {
      do {
        models.append(try list.decode(Snake.self))
      } catch {
        log.append("\(list.currentIndex)\(Failure(error))")
        _ = try list.superDecoder()
      }
    }
  }
}

/// Keys that are numbers too.
struct Numbered: Decodable {
  enum CodingKeys: Int, CodingKey { case one = 1, two, minus = -3 }

  var one: Int
  var two: [Int]?
  var minus: Inner?
  struct Inner: Decodable { var a: [Int: Bool] }

  static let schema = Schema.object([
    ("one", .integer), ("two", .optional(.array(.integer))), ("1", .integer), ("2", .array(.integer)),
    ("minus", .optional(.object([("a", .dictionary(.bool, names: ["1", "-2", "x", "01", "+1"]))]))),
  ])
}

/// A type of keys that refuses most names.
struct Refusing: Decodable {
  struct Key: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init?(stringValue: String) {
      guard stringValue.count == 1 else { return nil }
      self.stringValue = stringValue
    }
    init?(intValue: Int) { nil }
  }

  var log: [String] = []

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    let all = try decoder.container(keyedBy: AnyKey.self)
    log = container.sortedKeys.map { key in
      "\(key.stringValue) \(attempt { try container.decode(Double.self, forKey: key) })"
    }
    log += all.sortedKeys.map { key in "all \(key.stringValue) \(attempt { try all.decodeNil(forKey: key) })" }
  }
}

/// Throws a custom error for some values.
final class Thrower: Decodable {
  struct Own: Error { var path: [String] }

  let id: Int
  let words: [String]
  let next: [Thrower]?
  private enum CodingKeys: CodingKey { case id, words, next }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    words = try container.decodeIfPresent([String].self, forKey: .words) ?? []
    id = try container.decode(Int.self, forKey: .id)
    next = try container.decodeIfPresent([Thrower].self, forKey: .next)
    if id == 7 { throw Own(path: decoder.codingPath.map(\.stringValue)) }
    if id == 8 { throw DecodingError.dataCorruptedError(forKey: .id, in: container, debugDescription: "") }
    if id == 9 {
      throw DecodingError.valueNotFound(Int.self, .init(codingPath: decoder.codingPath, debugDescription: ""))
    }
  }

  @Sendable static func schema() -> Schema {
    .object([("id", .integer), ("words", .optional(.array(.string))), ("next", .optional(.array(.later(schema))))])
  }
}
