import FastJSON
import Foundation
import ReactorTesting
import Testing

/// The result of decoding: a value, or the kind of error.
enum Outcome<Value: Equatable>: Equatable {
  case value(Value)
  case failure(Failure.Kind)
  case otherError(String)

  init(_ body: () throws -> Value) {
    do {
      self = .value(try body())
    } catch let error as DecodingError {
      self = .failure(Failure.kind(of: error))
    } catch {
      self = .otherError("\(error)")
    }
  }
}

/// Expects both decoders to make the same of a text.
func expectAgreement<Value: Decodable & Equatable>(
  _ type: Value.Type, _ text: String, _ configure: (JSONDecoder) -> Void = { _ in },
  sourceLocation: SourceLocation = #_sourceLocation
) {
  let foundation = JSONDecoder()
  configure(foundation)
  let decoder = FastJSONDecoder(foundation)
  let data = Data(text.utf8)
  let expected = Outcome { try foundation.decode(type, from: data) }
  let found = Outcome { try decoder.decode(type, from: data) }
  guard found != expected else { return }
  Issue.record("\(type) of \(text): expected \(expected), found \(found)", sourceLocation: sourceLocation)
}

private struct Model: Decodable, Equatable, Sendable {
  var id: Int
  var name: String
  var note: String?
  var flag: Bool?
  var list: [Int]?
  var child: [String: Double]?
}

private struct SnakeModel: Decodable, Equatable, Sendable {
  var firstName: String
  var userId: Int
  var isOn: Bool?
  var byName: [String: Int]?
}

private let strings = [
  "\"\"", #""a""#, #""\"\\\/\b\f\n\r\t""#, #""\u0041\u00e9\u00E9""#, #""\ud83d\ude00""#, #""\u0000""#, "\"\u{7F}\"",
  "\"\u{FFFF}\"", "\"é漢😀\"", #""\ud800""#, #""\udc00""#, #""\ud800x""#, #""\ud800\u0041""#, #""\u12""#, #""\x""#,
  "\"a\nb\"", "\"\u{1}\"", "\"abc", "1", "null", "true", "[]", "{}", "",
]

private let numbers = [
  "0", "-0", "1", "-1", "127", "128", "-128", "-129", "255", "256", "32767", "32768", "65535", "65536",
  "2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296", "9223372036854775807",
  "9223372036854775808", "-9223372036854775808", "18446744073709551615", "18446744073709551616",
  "123456789012345678901234567890", "1.0", "1e3", "1.5", "0.1", "-2.5e-3", "1e19", "1e400", "-1e400", "0e999",
  "5e-324", "1.7976931348623157e308", "9007199254740993", "9007199254740993.0", "3.4028235e38", "3.5e38",
  "16777217", "01", "-01", "+1", "1.", ".5", "-", "1e", "1e+", "NaN", "1.00000017881393432617187499",
  "12345678901234567890123456789012345678", "0.30000000000000004", "1E5", "10e-1", "true", "\"1\"", "\"NaN\"", "[]",
  "{}",
]

/// Foundation's Decimal has been NaN for a negative zero.
private let decimals = numbers.filter { $0 != "-0" }

private let structures = [
  "", " ", "null", "true", "1", "\"a\"", "[]", "{}", "[", "{", "[1", "{\"a\":1", "[1,2]", "[1 2]", "{\"a\" 1}",
  "[1] 2", "nul", "[[],{}]", "\u{FEFF}[1]", "[1]\u{C}", "/**/1", "[\"\",null,true,1.5,{\"a\":[]}]",
  "{\"\":{\"\":{}}}", "[1}", "{\"a\":1]",
]

private let objects = [
  #"{"id":1,"name":"a"}"#, #"{"name":"a","id":1,"note":null,"flag":null,"list":null,"child":null}"#,
  #"{"id":1,"name":"a","note":"n","flag":true,"list":[1,2],"child":{"x":1.5},"extra":[{}]}"#, #"{"id":1}"#, "{}",
  #"{"id":"1","name":"a"}"#, #"{"id":1,"name":null}"#, #"{"id":1,"name":"a","flag":1}"#,
  #"{"id":1,"name":"a","list":{}}"#, #"{"id":1,"name":"a","list":[1,null]}"#, #"{"id":1,"name":"a","child":[]}"#,
  #"{"id":1,"name":"a","child":{"x":"y"}}"#, #"{"\u0069d":1,"n\u0061me":"a"}"#, #"{"ID":1,"name":"a"}"#,
  #"{"id":1.5,"name":"a"}"#, #"{"id":1.0,"name":""}"#, "null", "[]", "1",
  #"{"first_name":"a","user_id":1,"is_on":true,"by_name":{"a_b":1}}"#, #"{"firstName":"a","userId":1}"#,
  #"{"first__name":"a","_user_id":1}"#, #"{"first_name":"a","user_ID":1}"#,
]

private let dates = [
  "0", "1.5", "-1e9", "null", "true", "\"\"", "\"x\"", "\"2001-01-01T00:00:00Z\"", "\"2024-02-29T23:59:59Z\"",
  "\"2023-02-29T00:00:00Z\"", "\"2001-01-01T00:00:60Z\"", "\"2001-01-01T24:00:00Z\"", "\"2001-13-01T00:00:00Z\"",
  "\"2001-00-01T00:00:00Z\"", "\"2001-01-00T00:00:00Z\"", "\"2001-01-32T00:00:00Z\"", "\"2001-04-31T00:00:00Z\"",
  "\"0000-01-01T00:00:00Z\"", "\"0001-01-01T00:00:00Z\"", "\"1582-10-10T00:00:00Z\"", "\"1600-02-29T00:00:00Z\"",
  "\"1900-02-29T00:00:00Z\"", "\"9999-12-31T23:59:59Z\"", "\"10000-01-01T00:00:00Z\"",
  "\"2001-01-01T00:00:00+01:00\"", "\"2001-01-01T00:00:00-0530\"", "\"2001-01-01T00:00:00.5Z\"",
  "\"2001-01-01T00:00:00\"", "\"2001-01-01 00:00:00Z\"", "\"2001-01-01t00:00:00z\"", "\"2001-01-01\"",
  "\"20010101T000000Z\"", "\"2001-01-01T00:00:00Z \"", "\"2001-1-1T0:0:0Z\"", "\"\\u0032001-01-01T00:00:00Z\"",
]

private let encoded = [
  "\"\"", "\"AQID\"", "\"AQI=\"", "\"AQ==\"", "\"AQ\"", "\"A\"", "\"*\"", "\"AQ ID\"", "\"AQID=\"", "\"=\"",
  "\"\\/\\/\\/\\/\"", "\"AQI\\u003d\"", "1", "null", "[]", "[1,2,255]", "[256]", "[-1]", "[1.5]", "{}",
]

private let addresses = [
  "\"\"", "\"a\"", "\"https:\\/\\/a.b\\/c?d=e#f\"", "\" \"", "\"a b\"", "\"é\"", "\"http:\\/\\/[\"", "1", "null",
  "[]",
]

@Suite struct `Agreement with JSONDecoder` {
  @Test(arguments: strings) func `strings decode as by JSONDecoder`(text: String) {
    expectAgreement(String.self, text)
    expectAgreement(String?.self, text)
    expectAgreement([String].self, "[\(text)]")
    expectAgreement([String: String].self, "{\"a\":\(text)}")
    // Foundation finds bad strings when it reads them, which the attempts of a union hide.
    let isAccepted = (try? JSONDecoder().decode(AnyJSON.self, from: Data(text.utf8))) != nil
    #expect(isRefused(AnyJSON.self, text) != isAccepted)
  }

  @Test(arguments: numbers) func `numbers decode as by JSONDecoder`(text: String) {
    expectAgreement(Int.self, text)
    expectAgreement(Int8.self, text)
    expectAgreement(Int16.self, text)
    expectAgreement(Int32.self, text)
    expectAgreement(Int64.self, text)
    expectAgreement(UInt.self, text)
    expectAgreement(UInt8.self, text)
    expectAgreement(UInt16.self, text)
    expectAgreement(UInt32.self, text)
    expectAgreement(UInt64.self, text)
    expectAgreement(Double.self, text)
    expectAgreement(Float.self, text)
    expectAgreement([Int].self, "[1,\(text)]")
    expectAgreement([Double?].self, "[null,\(text)]")
    expectAgreement([String: Float].self, "{\"a\":\(text)}")
  }

  @Test(arguments: decimals) func `Decimals decode as by JSONDecoder`(text: String) {
    expectAgreement(Decimal.self, text)
    expectAgreement([Decimal].self, "[\(text)]")
  }

  @Test(arguments: ["null", "true", "false", "1", "0", "\"true\"", "[]", "{}"])
  func `Booleans decode as by JSONDecoder`(text: String) {
    if text != "null" { expectAgreement(Bool.self, text) }
    expectAgreement(Bool?.self, text)
    expectAgreement([String: Bool?].self, "{\"a\":\(text)}")
  }

  /// Foundation says `typeMismatch` of a null Boolean, but `valueNotFound` of every other type.
  @Test func `a null Boolean decodes as by JSONDecoder`() {
    expectAgreement(Bool.self, "null")
    expectAgreement([Bool].self, "[true,null]")
    expectAgreement([String: Bool].self, #"{"a":null}"#)
  }

  @Test(arguments: ["\"+\"", "\"-\"", "\"nan\"", "\"x\"", "1", "1e999", "null"])
  func `numbers in strings decode as by JSONDecoder`(text: String) {
    let configure: (JSONDecoder) -> Void = {
      $0.nonConformingFloatDecodingStrategy = .convertFromString(positiveInfinity: "+", negativeInfinity: "-", nan: "?")
    }
    expectAgreement(Double.self, text, configure)
    expectAgreement([Float].self, "[\(text)]", configure)
    expectAgreement(Int.self, text, configure)
  }

  @Test(arguments: structures) func `structures decode as by JSONDecoder`(text: String) {
    expectAgreement(AnyJSON.self, text)
    expectAgreement([AnyJSON].self, text)
    expectAgreement([String: AnyJSON].self, text)
    expectAgreement([String: AnyJSON]?.self, text)
  }

  @Test(arguments: [511, 512, 513, 10_000]) func `nested values decode as by JSONDecoder, up to the limit of depth`(
    depth: Int
  ) throws {
    let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    let isSame = try onLargeStack {
      let data = Data(text.utf8)
      let expected = Outcome { try JSONDecoder().decode(AnyJSON.self, from: data) }
      return expected == Outcome { try FastJSONDecoder().decode(AnyJSON.self, from: data) }
    }
    #expect(isSame)
  }

  @Test(arguments: objects) func `models decode as by JSONDecoder`(text: String) {
    expectAgreement(Model.self, text)
    expectAgreement(Model?.self, text)
    expectAgreement([Model].self, "[\(text),\(text)]")
    expectAgreement([String: Model].self, "{\"a\":\(text)}")
    expectAgreement(AnyJSON.self, text)
  }

  @Test(arguments: objects) func `names in snake case decode as by JSONDecoder`(text: String) {
    let snake: (JSONDecoder) -> Void = { $0.keyDecodingStrategy = .convertFromSnakeCase }
    expectAgreement(SnakeModel.self, text, snake)
    expectAgreement([SnakeModel].self, "[\(text)]", snake)
    expectAgreement(AnyJSON.self, text, snake)
  }

  @Test(arguments: objects) func `names of a custom strategy decode as by JSONDecoder`(text: String) {
    let custom: (JSONDecoder) -> Void = {
      $0.keyDecodingStrategy = .custom { AnyKey($0.last?.stringValue.lowercased() ?? "") }
    }
    expectAgreement(Model.self, text, custom)
    expectAgreement(AnyJSON.self, text, custom)
  }

  @Test(arguments: [#"{"1":"a","-2":"b"}"#, #"{"a":"b"}"#, "{}", "[]", #"["a",1]"#, #"["a"]"#, "null"])
  func `dictionaries with other keys decode as by JSONDecoder`(text: String) {
    expectAgreement([Int: String].self, text)
    expectAgreement([Double: Int].self, text)
    expectAgreement([[Int]: Int].self, text)
  }

  @Test(arguments: dates) func `dates decode as by JSONDecoder`(text: String) {
    expectAgreement(Date.self, text)
    expectAgreement([Date?].self, "[\(text)]")
    expectAgreement(Date.self, text) { $0.dateDecodingStrategy = .secondsSince1970 }
    expectAgreement(Date.self, text) { $0.dateDecodingStrategy = .millisecondsSince1970 }
    expectAgreement(Date.self, text) { $0.dateDecodingStrategy = .iso8601 }
    expectAgreement([String: Date].self, "{\"a\":\(text)}") { $0.dateDecodingStrategy = .iso8601 }
    expectAgreement([Date].self, "[\(text)]") {
      $0.dateDecodingStrategy = .custom { decoder in
        Date(timeIntervalSince1970: try decoder.singleValueContainer().decode(Double.self))
      }
    }
  }

  @Test func `random dates decode as by JSONDecoder`() {
    var random = SeededGenerator(seed: 0x5EED_0004)
    for _ in 0..<1_000 {
      let parts = [1...13, 1...31, 0...23, 0...59, 0...59].map { range in
        let number = Int.random(in: range, using: &random)
        return number < 10 ? "0\(number)" : "\(number)"
      }
      let year = Int.random(in: 1_600...9_999, using: &random)
      let text = "\"\(year)-\(parts[0])-\(parts[1])T\(parts[2]):\(parts[3]):\(parts[4])Z\""
      expectAgreement(Date.self, text) { $0.dateDecodingStrategy = .iso8601 }
    }
  }

  @Test(arguments: encoded) func `data decodes as by JSONDecoder`(text: String) {
    expectAgreement(Data.self, text)
    expectAgreement([Data?].self, "[\(text)]")
    expectAgreement(Data.self, text) { $0.dataDecodingStrategy = .deferredToData }
    expectAgreement([String: Data].self, "{\"a\":\(text)}") {
      $0.dataDecodingStrategy = .custom { Data(try $0.singleValueContainer().decode(String.self).utf8) }
    }
  }

  @Test(arguments: addresses) func `URLs decode as by JSONDecoder`(text: String) {
    expectAgreement(URL.self, text)
    expectAgreement([URL].self, "[\(text)]")
    expectAgreement([String: URL?].self, "{\"a\":\(text)}")
  }

  @Test(arguments: ["null", "1", "[]", "[null]", "[[null,1],null]", "[1,1,2]", "[2,1]", "{\"a\":null}", "\"x\""])
  func `Optionals and collections decode as by JSONDecoder`(text: String) {
    expectAgreement(Int??.self, text)
    expectAgreement([Int?].self, text)
    expectAgreement([[Int?]?].self, text)
    expectAgreement(Set<Int>.self, text)
    expectAgreement(ContiguousArray<Int>.self, text)
    expectAgreement(ClosedRange<Int>.self, text)
    expectAgreement([String: Int?].self, text)
    expectAgreement([String: [Int]?].self, text)
  }
}
