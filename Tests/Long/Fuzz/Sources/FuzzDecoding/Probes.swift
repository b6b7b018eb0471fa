import Foundation
import FuzzSupport

/// Writes down what a decoder says to every question: each type, each container, each path.
struct Probe: Decodable {
  var log: [String]

  init(from decoder: any Decoder) throws { log = Self.log(of: decoder, budget: 10) }

  static func log(of decoder: any Decoder, budget: Int) -> [String] {
    let prober = Prober(budget: budget)
    prober.look(at: decoder)
    return prober.log
  }
}

/// Keeps its decoder and its containers, and reads them once more when the decoding is over.
final class Keeper: Decodable {
  private let decoder: any Decoder
  private let keyed: KeyedDecodingContainer<AnyKey>?
  private let list: (any UnkeyedDecodingContainer)?
  private var before: [String] = []
  let inner: [Keeper]?

  init(from decoder: any Decoder) throws {
    self.decoder = decoder
    keyed = try? decoder.container(keyedBy: AnyKey.self)
    list = try? decoder.unkeyedContainer()
    inner = try keyed?.decodeIfPresent([Keeper].self, forKey: AnyKey("inner"))
    before = log
  }

  private var log: [String] {
    let prober = Prober(budget: 2)
    prober.look(at: decoder)
    if let keyed { prober.look(at: keyed) }
    if let list { prober.look(at: list) }
    return prober.log
  }

  /// The values that it has read. FastJSON's reads the same now; Foundation's decoder is one object
  /// for the whole text, and has continued.
  var witness: [String] {
    if String(reflecting: type(of: decoder)).hasPrefix("FastJSON.") {
      let after = log
      let changes = zip(before, after).filter { $0 != $1 && Self.withoutNames($0) != Self.withoutNames($1) }
      check(after.count == before.count && changes.isEmpty, "a kept decoder reads another value now: \(changes)")
    }
    return before
  }

  /// The row *path to a container*: made from the text, where a dictionary's name may stand
  /// converted. A line without the names of its path.
  private static func withoutNames(_ line: String) -> String {
    let hasPath = ["at \"", "! ", "= \"\\\""].contains { line.contains($0) }
    guard hasPath, let path = line.firstIndex(of: "\"") else { return line }
    return line[..<path] + line[path...].filter { " .,".contains($0) }
  }

  @Sendable static func schema() -> Schema {
    .oneOf([.object([("id", .any), ("inner", .optional(.array(.later(schema)))), ("list", .array(.any))]), .any])
  }
}

private final class Prober {
  private(set) var log: [String] = []
  private var budget: Int

  init(budget: Int) { self.budget = budget }

  private func note<Value>(_ label: String, _ body: () throws -> Value) {
    log.append("\(label) \(attempt(body))")
  }

  func look(at decoder: any Decoder) {
    guard budget > 0 else { return }
    budget -= 1
    log.append("at \(names(decoder.codingPath)), \(decoder.userInfo.count)")
    note("single") {
      let single = try decoder.singleValueContainer()
      log.append("null \(single.decodeNil()), at \(names(single.codingPath))")
      lookAtScalars { try single.decode($0) }
    }
    note("keyed") { look(at: try decoder.container(keyedBy: AnyKey.self)) }
    note("unkeyed") { look(at: try decoder.unkeyedContainer()) }
  }

  private func lookAtScalars(_ decode: (any Decodable.Type) throws -> any Decodable) {
    let types: [any Decodable.Type] = [
      Bool.self, String.self, Int.self, Int8.self, UInt.self, UInt64.self, Double.self, Float.self, Date.self,
      Data.self,
      URL.self, Decimal.self, Optional<Int>.self, [Int].self, [String: Int].self, Color.self,
    ]
    for type in types { note("\(type)") { try decode(type) } }
  }

  func look(at container: KeyedDecodingContainer<AnyKey>) {
    let keys = container.sortedKeys
    log.append("at \(names(container.codingPath)), members \(keys.map(\.stringValue))")
    for key in keys.prefix(4) + [AnyKey("id"), AnyKey("super")] {
      log.append("\(key.stringValue): \(container.contains(key))")
      note("null") { try container.decodeNil(forKey: key) }
      note("Int") { try container.decode(Int.self, forKey: key) }
      note("Int8?") { try container.decodeIfPresent(Int8.self, forKey: key) }
      note("String") { try container.decode(String.self, forKey: key) }
      note("Bool?") { try container.decodeIfPresent(Bool.self, forKey: key) }
      note("Float") { try container.decode(Float.self, forKey: key) }
      note("Date?") { try container.decodeIfPresent(Date.self, forKey: key) }
      note("list") { names(try container.nestedUnkeyedContainer(forKey: key).codingPath) }
      note("object") { names(try container.nestedContainer(keyedBy: AnyKey.self, forKey: key).codingPath) }
      note("super") { look(at: try container.superDecoder(forKey: key)) }
    }
  }

  func look(at container: any UnkeyedDecodingContainer) {
    var list = container
    log.append("at \(names(list.codingPath)), \(list.count ?? -1) elements")
    for _ in 0..<6 {
      log.append("\(list.currentIndex) \(list.isAtEnd)")
      note("UInt8") { try list.decode(UInt8.self) }
      // The row *an optional past the end*: Foundation counts it.
      if !list.isAtEnd { note("String?") { try list.decodeIfPresent(String.self) } }
      if !list.isAtEnd { note("Double?") { try list.decodeIfPresent(Double.self) } }
      note("[Int]") { try list.decode([Int].self) }
      note("null") { try list.decodeNil() }
      note("list") { names(try list.nestedUnkeyedContainer().codingPath) }
      note("super") { look(at: try list.superDecoder()) }
    }
  }
}

extension KeyedDecodingContainer {
  /// Foundation's keys come in any order.
  var sortedKeys: [Key] { allKeys.sorted { $0.stringValue < $1.stringValue } }
}
