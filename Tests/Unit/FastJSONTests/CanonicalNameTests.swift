import Foundation
import Testing

@testable import FastJSON

/// The values of the names in a list, each asked for, in this order.
private struct Asked: Decodable {
  static let names = CodingUserInfoKey(rawValue: "names")
  let values: [Int?]
  let allNames: [String]

  init(from decoder: any Decoder) throws {
    let names = try #require(Self.names)
    let asked = try #require(decoder.userInfo[names] as? [String])
    let container = try decoder.container(keyedBy: AnyKey.self)
    values = try asked.map { try container.decodeIfPresent(Int.self, forKey: AnyKey($0)) }
    allNames = container.allKeys.map(\.stringValue)
  }
}

private func values(of names: [String], in text: String, snake: Bool = false) throws -> Asked {
  let key = try #require(Asked.names)
  return try decode(
    Asked.self, text,
    with: configured {
      $0.userInfo = [key: names]
      if snake { $0.keyDecodingStrategy = .convertFromSnakeCase }
    })
}

private func object(_ names: some Sequence<String>) -> String {
  "{" + names.enumerated().map { "\"\($0.element)\":\($0.offset)" }.joined(separator: ",") + "}"
}

/// The objects of a text in which two names are equal.
private func duplicateCount(_ text: String, snake: Bool = false) throws -> Int {
  let session = Session()
  let strategies = Strategies(Options(keys: snake ? .convertFromSnakeCase : .useDefaultKeys))
  try Array(text.utf8).withUnsafeBytes { try session.begin($0, strategies) }
  return session.core.pointee.tape.duplicateCount
}

private func isNormalized(_ name: String) -> Bool {
  let bytes = Array(name.utf8) + [0]
  return bytes.withUnsafeBufferPointer { buffer in
    buffer.baseAddress.map { NameBytes($0, buffer.count - 1).isNormalized } ?? false
  }
}

private let composed = "\u{E9}"
private let decomposed = "e\u{301}"
/// Names in several scripts; those at the end have no form C by the look at their bytes.
private let names = [
  "id", "größe", "naïve", "ключ", "ёлка", "όνομα", "名前", "がぎ", "한국어", "東京タワー", "mixed é Ж 漢",
  "cafe\u{301}", "\u{212B}ngström", "हिन्दी", "ชื่อ", "שֵׁם", "emoji 😀", "か\u{3099}x", "ﬁ",
]

@Suite struct `Names beyond ASCII` {
  @Test func `a name is taken for normalized only where it surely is`() throws {
    // Scalars that stand behind the first in what some character is written as: they may join what
    // is before them.
    var joining: Set<UInt32> = []
    var listed: [Unicode.Scalar] = []
    for value in UInt32(0x80)...0xFFFF {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let name = String(Character(scalar))
      joining.formUnion(name.decomposedStringWithCanonicalMapping.unicodeScalars.dropFirst().map(\.value))
      if isNormalized(name) { listed.append(scalar) }
    }
    #expect(listed.count > 32_000)
    for scalar in listed {
      let name = String(Character(scalar))
      let isAlone =
        scalar.properties.canonicalCombiningClass == .notReordered && !joining.contains(scalar.value)
        && Array(name.precomposedStringWithCanonicalMapping.unicodeScalars) == [scalar]
      if !isAlone { Issue.record("U+\(String(scalar.value, radix: 16)) is not normalized") }
    }
  }

  @Test func `common scripts are normalized, marks are not`() {
    for name in names.prefix(11) { #expect(isNormalized(name), "\(name)") }
    for name in [decomposed, "\u{212A}", "\u{37E}", "か\u{3099}", "\u{1112}\u{1161}"] {
      #expect(!isNormalized(name), "\(name)")
    }
  }

  @Test(arguments: [names, names.reversed(), Array(names.prefix(11)), names + (0..<40).map { "é\($0)e\u{301}" }])
  func `each name is found, in the text's order and in others`(names: [String]) throws {
    let text = object(names)
    #expect(try duplicateCount(text) == 0)
    let expected = Array(names.indices)
    #expect(try values(of: names, in: text).values == expected)
    #expect(try values(of: names.reversed(), in: text).values == expected.reversed())
    #expect(try values(of: names, in: text).allNames == names)
    // As others may write them.
    let others = names.map(\.decomposedStringWithCanonicalMapping)
    #expect(try values(of: others, in: text).values == expected)
    #expect(try values(of: names, in: object(others)).values == expected)
    let absent = names.map { "\($0)\u{301}" } + ["absent", "é", "отсутствует"]
    #expect(try values(of: absent, in: text).values.allSatisfy { $0 == nil })
  }

  @Test(arguments: [0, 1, 5, 29, 30, 31, 32, 33, 100])
  func `the first of names that are canonically equal counts, in an object of any size`(others: Int) throws {
    let plain = (0..<others).map { "n\($0)" }
    for pair in [[composed, decomposed], [decomposed, composed], ["K", "\u{212A}"], ["\u{212A}", "K"]] {
      let names = [pair[0]] + plain + [pair[1]]
      let text = object(names)
      #expect(try duplicateCount(text) == 1)
      #expect(try values(of: pair + plain, in: text).values == [0, 0] + Array(1..<(others + 1)))
      #expect(try values(of: pair, in: text).allNames == [pair[0]] + plain)
      #expect(try decode([String: Int].self, text).count == others + 1)
      #expect(try decode([String: Int].self, text)[pair[1]] == 0)
    }
  }

  @Test func `equal names are counted once for each object`() throws {
    #expect(try duplicateCount(#"{"a":1,"a":2,"a":3}"#) == 1)
    #expect(try duplicateCount(#"[{"a":1,"a":2},{"ж":1,"ж":2},{"a":1,"b":{"é":1,"\u00e9":2}}]"#) == 3)
    #expect(try duplicateCount("[{\"\(composed)\":1,\"\(decomposed)\":2},{\"\(decomposed)\":1,\"x\":2}]") == 1)
    #expect(try duplicateCount(#"{"a_b":1,"aB":2}"#) == 0)
    #expect(try duplicateCount(#"{"a_b":1,"aB":2}"#, snake: true) == 1)
    #expect(try duplicateCount("{\"x_\(composed)\":1,\"x_\(decomposed)\":2}", snake: true) == 1)
  }

  @Test func `names are converted and found`() throws {
    let text = #"{"größe_max":1,"имя_файла":2,"cafe\#u{301}_x":3,"user_id":4}"#
    let names = ["größeMax", "имяФайла", "caf\(composed)X", "userId", "größe_max"]
    #expect(try values(of: names, in: text, snake: true).values == [1, 2, 3, 4, nil])
  }

  @Test func `keys in another form are found in a large object as fast as others`() throws {
    let plain = (0..<50_000).map { "größe \($0)" }
    let keys = plain.map(\.decomposedStringWithCanonicalMapping)
    #expect(try values(of: keys, in: object(plain)).values == Array(0..<50_000))
    #expect(try values(of: plain, in: object(keys)).values == Array(0..<50_000))
  }
}
