/// The bytes that libFuzzer made up, taken one after the other; zeros when they are used up, which
/// every choice takes for its plainest.
struct Choices {
  private var bytes: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

  var isEmpty: Bool { bytes.isEmpty }

  mutating func byte() -> UInt8 { bytes.popFirst() ?? 0 }
  mutating func number(below limit: Int) -> Int { Int(byte()) % limit }
  mutating func element<Element>(of elements: [Element]) -> Element { elements[number(below: elements.count)] }

  /// True for the greatest so many of the 256 bytes.
  mutating func isRare(_ count: UInt8) -> Bool { byte() > 255 - count }
}

/// The kind of JSON that a type takes.
indirect enum Schema: Sendable {
  case integer, number, bool, string, date, base64, address, any
  case literal([String])
  case optional(Schema)
  case array(Schema)
  case tuple([Schema])
  case dictionary(Schema, names: [String])
  case object([(String, Schema)])
  case oneOf([Schema])
  case later(@Sendable () -> Schema)

  static func dictionary(_ value: Schema) -> Schema {
    .dictionary(value, names: ["a", "b_c", "B", "", "\u{E9}", "a b"])
  }
}

/// Writes a text that fits a schema, but for the faults that the bytes ask for.
struct TextWriter {
  /// Changes of a member's name that the decoder's strategy takes back.
  enum Names { case plain, snakeCase, prefixed }

  var choices: Choices
  let names: Names
  private(set) var text: [UInt8] = []
  private var depth = 0

  init(_ choices: Choices, _ names: Names) {
    self.choices = choices
    self.names = names
  }

  /// Values that are mostly of another kind than was asked for.
  private static let others = [
    "null", "true", "-1", "1.5", "300", "70000", "1e3", "99999999999999999999", "\"\"", "\"text\"", "[]", "{}",
    "[null]",
    "{\"a\":1}", "[1,\"b\"]", "{\"id\":null}", "0", "\"1\"", "false", "[[]]",
  ]
  private static let numbers = [
    "0", "1", "-1", "7", "127", "128", "-128", "-129", "255", "256", "32767", "32768", "65535", "65536", "2147483648",
    "4294967295", "4294967296", "9007199254740993", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809", "18446744073709551615", "18446744073709551616", "170141183460469231731687303715884105727",
    "340282366920938463463374607431768211456", "-0", "-0.0", "1.0", "1e2", "10e-1", "0.1", "1.5", "2.5e-3", "1e19",
    "1e22",
    "1e23", "1e308", "1e309", "-1e400", "5e-324", "1e-400", "3.4028235e38", "3.5e38", "1e-45", "1e-46", "16777217",
    "1.00000017881393432617187499", "0.30000000000000004", "9007199254740993.0", "12345678901234567890.5", "0e1",
    "0e999",
    "0.0e-5", "1.0000000000000001", "1e39", "1e127", "1e128", "1e165", "1e-127", "1e-128", "1e-129",
    "123456789012345678901234567890123456789", "0.1234567890123456789012345678901234567890123",
  ]
  private static let dates = [
    "0", "2001-01-01T00:00:00Z", "2024-02-29T23:59:59Z", "2023-02-29T00:00:00Z", "2001-01-01T00:00:60Z",
    "1582-10-10T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T24:00:00Z", "2001-01-01T00:00:00+01:30",
    "2001-01-01T00:00:00.5Z", "2001-01-01t00:00:00z", "2001-01-01", "2001-06-31T00:00:00Z", "2001-1-1T0:0:0Z",
    "1900-02-29T00:00:00Z", "1599-12-31T23:59:59Z", "1600-01-01T00:00:00Z", "20010101T000000Z", "2001-01-01T00:00:00Z ",
  ]
  private static let encoded = ["", "AQID", "AQI=", "AQ==", "AQ", "*", "AQ ID", "=", "AQID\n", "////"]
  private static let addresses = [
    "https://example.com/a?b=c#d", "", "a", " ", "a b", "\u{E9}", "http://[", "//", "%", "a:b", "http://a:99999999/",
    "\\",
  ]

  // MARK: Values

  mutating func write(_ schema: Schema) {
    space()
    if choices.isRare(16) {
      text += choices.element(of: Self.others).utf8
    } else {
      writeFitting(schema)
    }
    space()
  }

  private mutating func writeFitting(_ schema: Schema) {
    switch schema {
    case .integer, .number: writeNumber(isInteger: { if case .integer = schema { true } else { false } }())
    case .bool: text += (choices.byte() & 1 == 0 ? "true" : "false").utf8
    case .string: quote(characters())
    case .date: writeDate()
    case .base64: quote(choices.element(of: Self.encoded))
    case .address: quote(choices.element(of: Self.addresses))
    case .any: writeAny()
    case .literal(let literals): text += choices.element(of: literals).utf8
    case .optional(let wrapped):
      if choices.byte() & 3 == 0 { text += "null".utf8 } else { writeFitting(wrapped) }
    case .array(let element): writeList(Array(repeating: element, count: count()))
    case .tuple(let elements): writeList(elements)
    case .dictionary(let value, let names):
      writeMembers((0..<count()).map { _ in (choices.element(of: names), value) })
    case .object(let members): writeMembers(members)
    case .oneOf(let schemas): writeFitting(choices.element(of: schemas))
    case .later(let make):
      if depth < 8 { nest { $0.writeFitting(make()) } } else { text += "null".utf8 }
    }
  }

  private mutating func nest(_ body: (inout Self) -> Void) {
    depth += 1
    body(&self)
    depth -= 1
  }

  private mutating func count() -> Int {
    let byte = choices.byte()
    return byte > 250 ? 8 * Int(byte - 249) : Int(byte) % 5
  }

  private mutating func writeAny() {
    guard depth < 12 else { return text += "[]".utf8 }
    nest {
      switch $0.choices.number(below: 6) {
      case 0: $0.text += $0.choices.element(of: Self.others).utf8
      case 1: $0.writeNumber(isInteger: false)
      case 2: $0.quote($0.characters())
      case 3, 4: $0.writeFitting(.array(.any))
      default:
        $0.writeFitting(.dictionary(.any, names: ["a", "id", "name", "firstName", "list", "inner", "super", "1"]))
      }
    }
  }

  private mutating func writeNumber(isInteger: Bool) {
    let kind = choices.byte()
    switch kind {
    case ..<64: text += "\(kind)".utf8
    case ..<192: text += choices.element(of: Self.numbers).utf8
    default:
      var digits = (0..<choices.number(below: 24)).map { _ in choices.byte() % 10 + 0x30 }
      while digits.first == 0x30 { digits.removeFirst() }
      if kind & 1 == 1 { text.append(UInt8(ascii: "-")) }
      text += digits.isEmpty ? [0x31] : digits
      if isInteger { return }
      if kind & 2 == 2 { text += [UInt8(ascii: "."), choices.byte() % 10 + 0x30, choices.byte() % 10 + 0x30] }
      if kind & 4 == 4 { text += "e\(Int(Int8(bitPattern: choices.byte())) * (kind & 8 == 8 ? 4 : 1))".utf8 }
    }
  }

  private mutating func writeDate() {
    let kind = choices.byte()
    if kind < 64 { return writeNumber(isInteger: false) }
    if kind < 192 { return quote(choices.element(of: Self.dates)) }
    let parts = [(13, 1), (32, 1), (25, 0), (61, 0), (61, 0)].map { limit, least in
      let number = choices.number(below: limit - least + 1) + least
      return number < 10 ? "0\(number)" : "\(number)"
    }
    let year = 1_000 + Int(choices.byte()) * 35 + choices.number(below: 35)
    quote("\(year)-\(parts[0])-\(parts[1])T\(parts[2]):\(parts[3]):\(parts[4])Z")
  }

  // MARK: Containers

  private mutating func writeList(_ elements: [Schema]) {
    var count = elements.count
    if choices.isRare(8) { count = choices.number(below: count + 1) }
    text.append(UInt8(ascii: "["))
    for (index, element) in elements.prefix(count).enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      write(element)
    }
    text.append(UInt8(ascii: "]"))
  }

  /// Members in any order: some absent, some more than asked for, some twice.
  private mutating func writeMembers(_ schema: [(String, Schema)]) {
    var members = schema
    let changes = choices.byte()
    if changes & 0x80 != 0, !members.isEmpty {
      let first = choices.number(below: members.count)
      members = Array(members[first...] + members[..<first])
    }
    if changes & 0x70 == 0x70, !members.isEmpty { members.remove(at: choices.number(below: members.count)) }
    if changes & 0x70 == 0x60, let twin = members.last { members.append(twin) }
    if changes & 0x70 == 0x50, let twin = members.last {
      members.insert(twin, at: choices.number(below: members.count))
    }
    if changes & 0x0F == 0x0F { members.insert((characters(), .any), at: choices.number(below: members.count + 1)) }
    if changes & 0x7F == 0x0E { members = (0..<70).map { ("more\($0)", .literal(["0"])) } + members }
    text.append(UInt8(ascii: "{"))
    for (index, member) in members.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      space()
      writeName(member.0)
      space()
      text.append(UInt8(ascii: ":"))
      write(member.1)
    }
    text.append(UInt8(ascii: "}"))
  }

  private mutating func writeName(_ name: String) {
    let isChanged = names != .plain && choices.byte() & 0x80 == 0
    guard isChanged else { return quote(name) }
    if names == .prefixed { return quote("x" + name) }
    quote(String(name.flatMap { $0.isUppercase ? ["_", Character($0.lowercased())] : [$0] }))
  }

  // MARK: Characters

  private mutating func space() {
    guard choices.isRare(6) else { return }
    text += choices.element(of: [" ", "\n", "\t", "\r\n  "]).utf8
  }

  private mutating func characters() -> String {
    let alphabet = [
      "a", "b", "x", "_", "0", "1", "Z", " ", "\u{E9}", "e\u{301}", "\u{6F22}", "\u{1F600}", "\u{1}", "\"", "\\", "/",
      "\u{7F}", "\u{2028}", "\u{DF}", "\u{212A}", "\u{0}", "id", "nan", "+", "-", "red", "\u{130}", "\n",
    ]
    return (0..<count()).map { _ in choices.element(of: alphabet) }.joined()
  }

  /// A string of JSON; now and then escaped without need.
  private mutating func quote(_ string: String) {
    let escapesAll = choices.isRare(8)
    text.append(UInt8(ascii: "\""))
    for scalar in string.unicodeScalars {
      guard escapesAll || scalar.value < 0x20 || scalar == "\"" || scalar == "\\" else {
        text += String(scalar).utf8
        continue
      }
      for unit in String(scalar).utf16 {
        let digits = String(unit, radix: 16, uppercase: unit & 1 == 1)
        text += "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8
      }
    }
    text.append(UInt8(ascii: "\""))
  }
}
