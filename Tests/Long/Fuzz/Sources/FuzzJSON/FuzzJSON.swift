import Foundation
import FuzzSupport

@testable import ReactorCore

/// `JSONValue` and the other parsers agree about any bytes, and `JSONDecoder` about what they read;
/// it reads more than RFC 8259 allows.
@c(LLVMFuzzerTestOneInput) public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = Input(start, count)
  checkReaders(input.data)
  checkParsers(input)
  for pumped in [input.pumped(), input.pumped(separator: ",", inside: ("[", "]"))] {
    guard let pumped else { continue }
    _ = try? JSONValue(parsing: pumped)
    _ = try? Parser.jsonBytes(requiring: ["id"]).parse(pumped)
  }
  return 0
}

private func checkReaders(_ data: Data) {
  let scanned = Result { () throws(ParserError) in _ = try Parser.jsonBytes().parse(data) }
  let parsed = Result { () throws(ParserError) in try JSONValue(parsing: data) }
  switch (scanned, parsed) {
  case (.success, .success(let value)): checkValue(value, data)
  case (.success, .failure(let error)):
    check(error.reason == .unacceptable, "JSON that is not parsed: \(error)")
    checkPlace(error, data)
  case (.failure(let left), .failure(let right)):
    check(left == right, "two errors: \(left), \(right)")
    checkPlace(left, data)
  case (.failure(let error), .success): violated("parsed although no JSON: \(error)")
  }
}

private func checkValue(_ value: JSONValue, _ data: Data) {
  let text = succeed("not written") { try value.data() }
  let again = succeed("what was written is not read") { try JSONValue(parsing: text) }
  check(isSame(again, value), "\(again) after \(value)")
  let repeated = succeed("not written again") { try again.data() }
  check(again != value || repeated == text, "two texts of one value: \(text.base64EncodedString())")
  guard isShallow(data) else { return }
  let theirs = succeed("JSONDecoder does not read it") { try JSONDecoder().decode(JSONValue.self, from: data) }
  check(agree(theirs, value), "JSONDecoder reads \(theirs), and not \(value)")
  checkInteger(value, data)
}

/// Compares what was read again with the value that was written. A `Double` from 2⁵³ on is whole,
/// and its text may be read as an integer; then that integer has the same `Double`.
private func isSame(_ again: JSONValue, _ value: JSONValue) -> Bool {
  switch (again, value) {
  case (.integer(let integer), .number(let number)): number.magnitude >= 0x1p53 && Double(integer) == number
  case (.unsigned(let integer), .number(let number)): number.magnitude >= 0x1p53 && Double(integer) == number
  case (.array(let left), .array(let right)): left.count == right.count && zip(left, right).allSatisfy(isSame)
  case (.object(let left), .object(let right)):
    left.count == right.count && left.allSatisfy { name, member in right[name].map { isSame(member, $0) } ?? false }
  default: again == value
  }
}

/// A member's integer is what Codable reads, or an error.
private func checkInteger(_ value: JSONValue, _ data: Data) {
  struct Signed: Decodable { var id: Int64 }
  struct Unsigned: Decodable { var id: UInt64 }
  if let ours = try? value.integer("id", as: UInt64.self),
    let theirs = try? JSONDecoder().decode(Unsigned.self, from: data).id
  {
    check(ours == theirs, "\(ours) and not \(theirs), as Codable has it")
  }
  if let ours = try? value.integer("id", as: Int64.self),
    let theirs = try? JSONDecoder().decode(Signed.self, from: data).id
  {
    check(ours == theirs, "\(ours) and not \(theirs), as Codable has it")
  }
}

private func checkPlace(_ error: ParserError, _ data: Data) {
  guard let position = error.position else { violated("no place: \(error)") }
  check((0...data.count).contains(position.offset), "no place in the bytes: \(error)")
  check(position.line >= 1 && (1...data.count + 1).contains(position.column), "no line or column: \(error)")
  check((error.excerpt?.utf8.count ?? 0) <= 80, "a long excerpt: \(error)")
}

private func checkParsers(_ input: Input) {
  let keyPath = ["", "d", "d.0", "a.b.c", ".", "d.99999999999999999999"][Int(input.hash >> 32 % 6)]
  let data = input.data
  let bytes = Parser.jsonBytes(keyPath: keyPath, requiring: ["id"])
  let kept = try? bytes.parse(data)
  let stories = try? Parser<[Story]>.json(keyPath: keyPath).parse(data)
  let mapped = try? Parser<[MappedStory]>.mappable(keyPath: keyPath).parse(data)
  for element in (kept?.pruned ?? []) + (stories?.pruned ?? []) + (mapped?.pruned ?? []) {
    checkPlace(element.error, data)
  }
  if let kept {
    let again = succeed("what was kept is not read") { try Parser.jsonBytes(requiring: ["id"]).parse(kept.model) }
    check(again.pruned.isEmpty, "what was kept is pruned")
    guard let envelope = succeed("no envelope", { try bytes.encode(kept.model) }) else { violated("no envelope") }
    check((try? bytes.parse(envelope))?.pruned.isEmpty == true, "the envelope is not read")
  }
  if let stories {
    let parser = Parser<[Story]>.json(keyPath: keyPath)
    guard let encoded = succeed("not encoded", { try parser.encode(stories.model) }) else { violated("not encoded") }
    check(succeed("not decoded") { try parser.parse(encoded) }.model == stories.model, "other stories")
  }
}

/// Returns true if `JSONDecoder` is fast enough: each value of another type than was tried costs it
/// the square of the depth, and a `JSONValue` tries four.
private func isShallow(_ data: Data) -> Bool {
  data.count { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "{") } <= 32
}

private struct Story: Codable, Hashable {
  var id: Int
  var title: String?
}

private struct MappedStory: Mappable, Hashable {
  var id: Int

  static func mapToModel(_ json: JSONValue) throws -> MappedStory { MappedStory(id: try json.integer("id")) }
  func mapToJSON() -> JSONValue { ["id": .integer(Int64(id))] }
}

/// Returns true if the values are equal, except for the numbers that `JSONDecoder` reads otherwise:
/// 1.0 as an integer, and one near 2⁵³ past its fraction. Integers that both hold as integers must
/// be equal.
private func agree(_ theirs: JSONValue, _ ours: JSONValue) -> Bool {
  switch (theirs, ours) {
  case (.array(let left), .array(let right)): left.count == right.count && zip(left, right).allSatisfy(agree)
  case (.object(let left), .object(let right)):
    left.count == right.count && left.allSatisfy { name, value in right[name].map { agree(value, $0) } ?? false }
  case (.integer, .integer), (.unsigned, .unsigned), (.integer, .unsigned), (.unsigned, .integer): theirs == ours
  default:
    if let left = theirs.double, let right = ours.double {
      abs(left - right) <= abs(right) * 0x1p-52
    } else {
      theirs == ours
    }
  }
}

extension JSONValue {
  fileprivate var double: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .unsigned(let value): Double(value)
    case .number(let value): value
    default: nil
    }
  }
}
