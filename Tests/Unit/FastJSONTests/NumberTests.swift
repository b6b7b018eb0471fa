import FastJSON
import Foundation
import ReactorTesting
import Testing

private let doubles = [
  "0", "-0", "0.0", "-0.0", "0e999", "-0e999", "0e-999", "0e99999999999999999999", "0.000e5", "1", "-1", "0.1", "0.2",
  "0.3", "1.5", "1e1", "1E1", "1e+1", "1e-1", "1e22", "1e23", "1e-22", "1e-23", "1e27", "1e28", "1e-27", "1e-28",
  "123456789012345678", "1234567890123456789", "12345678901234567890", "123456789012345678901234567890",
  "9007199254740991", "9007199254740992", "9007199254740993", "9007199254740993.0", "9007199254740992.5",
  "9007199254740993.00000000000000000000000000000001", "9007199254740995", "18446744073709551615",
  "18446744073709551616", "0.1000000000000000055511151231257827021181583404541015625", "5e-324", "4.9e-324", "3e-324",
  "2.2250738585072014e-308", "2.2250738585072011e-308", "2.2250738585072009e-308", "1.7976931348623157e308",
  "1.7976931348623158e308", "17976931348623157e292", "179769313486231570000e288", "8.5e-320", "1e-307", "1e307",
  "6.02214076e23", "6.62607015e-34", "299792458", "3.141592653589793238462643383279", "1e00000000000000000001",
  "1e-00000000000000000001", "0.00000000000000000000000000000000000000000000000000001e53", "72057594037927945e3",
  "10000000000000000000000e-22", "7450580596923828125e-27", "999999999999999999e27",
]

private let floats = [
  "0", "-0.0", "0.1", "1", "16777216", "16777217", "16777218", "16777219", "1.00000017881393432617187499",
  "1.000000178813934326171875", "1.00000017881393432617187501", "3.4028234663852886e38", "3.4028235e38",
  "3.40282356e38", "1.1754943508222875e-38", "1.4e-45", "1e-45", "8e-46", "1e10", "1e-10", "1e18", "1e19", "1e-27",
  "1e-28", "123456789", "0.3333333432674407958984375", "8388609.5", "33554431", "9999999999999999999",
]

private let wholeNumbers: [(String, Int)] = [
  ("0", 0), ("-0", 0), ("-0.0", 0), ("0e5", 0), ("0e99999999999999999999", 0), ("1.0", 1), ("-1.0", -1), ("1e3", 1_000),
  ("1E+3", 1_000), ("10e-1", 1), ("1.50e1", 15), ("120e-1", 12), ("1.25e2", 125), ("-1.25e2", -125),
  ("100000000000000000000e-19", 10), ("9007199254740993.0", 9_007_199_254_740_993),
  ("9.007199254740993e15", 9_007_199_254_740_993), ("9223372036854775807.0", .max), ("-9223372036854775808", .min),
  ("-9223372036854775808.0", .min), ("922337203685477580700e-2", .max), ("1e18", 1_000_000_000_000_000_000),
  ("1.00000000000000000000000000000000000000000000000000", 1),
]

private let notWholeNumbers = [
  "1.5", "-0.5", "1e-1", "0.1", "15e-1", "1e19", "1e400", "1e-400", "1.0000000000000001", "9007199254740993.5",
  "9223372036854775808", "-9223372036854775809", "9223372036854775807.5", "18446744073709551615",
  "123456789012345678901234567890", "1e99999999999999999999", "1e-99999999999999999999",
]

private let notNumbers = [
  "01", "-01", "00", "-00", "+1", "1.", "-1.", ".5", "-.5", "-", "--1", "1e", "1E", "1e+", "1e-", "1.e1", "1.5e",
  "0x10", "1_000", "1,000", "NaN", "-NaN", "Infinity", "-Infinity", "inf", "nan", "1.2.3", "1e1.5", "e1", "1e1e1",
  "1-2", "1+2", "١", "1f", "0b1", "- 1", "1 .5",
]

/// The next number away from zero, for a number that does not end in 9.
private func beyond(_ number: String) -> String {
  let last = Int(number.suffix(1)) ?? 0
  return "\(number.dropLast())\(last + 1)"
}

@Suite struct `Numbers` {
  @Test(arguments: doubles) func `a Double is the nearest one`(text: String) throws {
    let expected = try #require(Double(text))
    #expect(try decode(Double.self, text).bitPattern == expected.bitPattern)
    #expect(try decode([Double].self, "[\(text),1]").first?.bitPattern == expected.bitPattern)
    #expect(try decode([String: Double].self, "{\"a\":\(text)}")["a"]?.bitPattern == expected.bitPattern)
  }

  @Test(arguments: ["1e309", "-1e309", "1e400", "1.8e308", "1e-400", "-1e-400", "2e-324", "1e99999999999999999999"])
  func `a Double that is out of range is refused`(text: String) throws {
    #expect(try failure(Double.self, text) == Failure(.dataCorrupted, [], at: 0))
    #expect(try failure([Double].self, "[1,\(text)]") == Failure(.dataCorrupted, ["Index 1"], at: 3))
  }

  @Test(arguments: floats) func `a Float is rounded once`(text: String) throws {
    let expected = try #require(Float(text))
    #expect(try decode(Float.self, text).bitPattern == expected.bitPattern)
  }

  @Test(arguments: ["3.5e38", "-3.5e38", "1e39", "1e400", "1e-46", "1e-400"])
  func `a Float that is out of range is refused`(text: String) {
    #expect(isRefused(Float.self, text))
  }

  @Test func `zero keeps its sign as a Double, and has none as an Int`() throws {
    #expect(try decode(Double.self, "-0").sign == .minus)
    #expect(try decode(Double.self, "-0.0").sign == .minus)
    #expect(try decode(Double.self, "-0e5").sign == .minus)
    #expect(try decode(Float.self, "-0").sign == .minus)
    #expect(try decode(Int.self, "-0") == 0)
    #expect(try decode(UInt8.self, "-0") == 0)
  }

  @Test(arguments: [17, 18, 19, 20, 40, 767, 768, 769, 2_000]) func `many digits are rounded right`(count: Int) throws {
    var random = SeededGenerator(seed: UInt64(count))
    for _ in 0..<50 {
      let digits = String((0..<count).map { _ in Character("\(Int.random(in: 1...9, using: &random))") })
      for text in ["0.\(digits)", "\(digits)e-\(count)", "-1.\(digits)e-5", "\(digits.prefix(1)).\(digits)e10"] {
        #expect(try decode(Double.self, text).bitPattern == Double(text)?.bitPattern, "\(text)")
      }
    }
  }

  @Test(arguments: [700, 767, 768, 800, 5_000]) func `the last of many digits decides a tie`(zeros: Int) throws {
    let tie = "9007199254740993." + String(repeating: "0", count: zeros)
    #expect(try decode(Double.self, tie) == 9_007_199_254_740_992)
    #expect(try decode(Double.self, tie + "1") == 9_007_199_254_740_994)
    #expect(try decode(Int.self, tie) == 9_007_199_254_740_993)
    #expect(isRefused(Int.self, tie + "1"))
  }

  @Test func `random numbers agree with the standard library`() throws {
    var random = SeededGenerator(seed: 0x5EED_0002)
    let decoder = FastJSONDecoder()
    for _ in 0..<20_000 {
      let significand = random.next() >> UInt64.random(in: 0...63, using: &random)
      let text = "\(significand)e\(Int.random(in: -60...60, using: &random))"
      let found = try decode(Double.self, text, with: decoder)
      if found.bitPattern != Double(text)?.bitPattern { Issue.record("\(text) is not \(found)") }
      guard let float = Float(text), float.isFinite, float != 0 || significand == 0 else { continue }
      let single = try decode(Float.self, text, with: decoder)
      if single.bitPattern != float.bitPattern { Issue.record("\(text) is not \(single) as a Float") }
    }
  }

  private func checkLimits<Integer: FixedWidthInteger & Decodable>(_ type: Integer.Type) throws {
    let (least, greatest) = ("\(Integer.min)", "\(Integer.max)")
    #expect(try decode(type, least) == Integer.min)
    #expect(try decode(type, greatest) == Integer.max)
    #expect(try decode([String: Integer].self, "{\"a\":\(greatest)}") == ["a": Integer.max])
    #expect(try decode([Integer].self, "[\(least),\(greatest)]") == [Integer.min, Integer.max])
    #expect(isRefused(type, Integer.isSigned ? beyond(least) : "-1"))
    #expect(isRefused(type, beyond(greatest)))
    #expect(isRefused(type, greatest + "0"))
    #expect(isRefused(type, greatest + ".5"))
    #expect(try decode(type, greatest + ".0") == Integer.max)
    #expect(try decode(type, greatest + "0e-1") == Integer.max)
  }

  @Test func `each integer type takes its least and greatest number, and refuses the next`() throws {
    try checkLimits(Int.self)
    try checkLimits(Int8.self)
    try checkLimits(Int16.self)
    try checkLimits(Int32.self)
    try checkLimits(Int64.self)
    try checkLimits(Int128.self)
    try checkLimits(UInt.self)
    try checkLimits(UInt8.self)
    try checkLimits(UInt16.self)
    try checkLimits(UInt32.self)
    try checkLimits(UInt64.self)
    try checkLimits(UInt128.self)
  }

  @Test(arguments: wholeNumbers) func `an integer may be written with a point or an exponent`(
    text: String, expected: Int
  ) throws {
    #expect(try decode(Int.self, text) == expected)
    #expect(try decode([Int].self, "[\(text)]") == [expected])
    #expect(try decode(Int128.self, text) == Int128(expected))
  }

  @Test(arguments: notWholeNumbers) func `a number that is no Int is refused`(text: String) throws {
    #expect(try failure(Int.self, text).kind == .dataCorrupted)
    #expect(try failure([Int].self, "[0,\(text)]") == Failure(.dataCorrupted, ["Index 1"], at: 3))
  }

  @Test(arguments: notNumbers) func `a text that is no number is refused, read or not`(text: String) {
    #expect(isRefused(Double.self, text))
    #expect(isRefused([Double].self, "[\(text)]"))
    #expect(isRefused(Nothing.self, "{\"a\":\(text)}"))
    #expect(isRefused(Nothing.self, "[1, \(text)"))
  }

  @Test(arguments: ["", " ", "\n", "\t", "\r\n"]) func `a number ends before each separator`(space: String) throws {
    #expect(try decode(Int.self, "12\(space)") == 12)
    #expect(try decode([Int].self, "[12\(space),34\(space)]") == [12, 34])
    #expect(try decode([String: Double].self, "{\"a\":1.5e1\(space),\"b\":2\(space)}") == ["a": 15, "b": 2])
  }

  @Test func `numbers that are no numbers come from strings only by a strategy`() throws {
    #expect(try failure(Double.self, "\"NaN\"").kind == .typeMismatch)
    let decoder = configured {
      $0.nonConformingFloatDecodingStrategy = .convertFromString(
        positiveInfinity: "+∞", negativeInfinity: "-∞", nan: "NaN")
    }
    #expect(try decode(Double.self, "\"+∞\"", with: decoder) == .infinity)
    #expect(try decode(Double.self, "\"-∞\"", with: decoder) == -.infinity)
    #expect(try decode(Double.self, "\"NaN\"", with: decoder).isNaN)
    #expect(try decode([Float].self, "[\"+∞\",\"-∞\",1]", with: decoder) == [.infinity, -.infinity, 1])
    #expect(try failure(Double.self, "\"nan\"", with: decoder).kind == .typeMismatch)
    #expect(try failure(Double.self, "1e999", with: decoder).kind == .dataCorrupted)
    #expect(try failure(Int.self, "\"NaN\"", with: decoder).kind == .typeMismatch)
  }

  @Test(
    arguments: [
      "0", "1", "-1", "0.1", "3.14159", "-12.50", "1e10", "1e-10", "18446744073709551615", "-18446744073709551615",
      "12345678901234567890123456789012345678", "0.12345678901234567890123456789012345678", "1e100", "1e-100",
    ])
  func `a Decimal is exact`(text: String) throws {
    let expected = try #require(Decimal(string: text))
    #expect(try decode(Decimal.self, text) == expected)
    #expect(try decode([Decimal].self, "[\(text)]") == [expected])
  }

  @Test(arguments: ["-0", "-0.0", "-0e5", "0.000"]) func `a Decimal of zero is a number`(text: String) throws {
    let value = try decode(Decimal.self, text)
    #expect(!value.isNaN)
    #expect(value == 0)
  }

  @Test func `a Decimal beyond its range, or of a string, is refused`() throws {
    #expect(isRefused(Decimal.self, "1e1000"))
    #expect(try failure(Decimal.self, "\"1\"").kind == .typeMismatch)
    #expect(try failure(Decimal.self, "null").kind == .valueNotFound)
  }
}
