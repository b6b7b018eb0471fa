import FastJSON
import Foundation
import Testing

private struct Holder<Value: Decodable & Equatable & Sendable>: Decodable, Equatable, Sendable {
  var value: Value
}

private let isoDates: [(String, Double)] = [
  ("2001-01-01T00:00:00Z", 0), ("1970-01-01T00:00:00Z", -978_307_200), ("2000-02-29T00:00:00Z", -26_524_800),
  ("2000-12-31T23:59:59Z", -1), ("2001-03-01T00:00:00Z", 5_097_600), ("2004-02-29T12:30:15Z", 99_750_615),
  ("2026-11-23T10:00:00Z", 817_120_800), ("1600-01-01T00:00:00Z", -12_654_403_200),
  ("2100-03-01T00:00:00Z", 3_129_235_200), ("9999-12-31T23:59:59Z", 252_423_993_599),
]

private func seconds(_ decoder: FastJSONDecoder, _ text: String) throws -> Double {
  try decode(Date.self, text, with: decoder).timeIntervalSinceReferenceDate
}

@Suite struct `Dates` {
  @Test func `the default is a number of seconds since 2001`() throws {
    #expect(try seconds(FastJSONDecoder(), "-1.5") == -1.5)
    #expect(try failure(Date.self, "\"x\"").kind == .typeMismatch)
    #expect(try failure(Date.self, "null").kind == .valueNotFound)
  }

  @Test func `seconds and milliseconds since 1970`() throws {
    #expect(try seconds(configured { $0.dateDecodingStrategy = .secondsSince1970 }, "978307200.25") == 0.25)
    #expect(try seconds(configured { $0.dateDecodingStrategy = .millisecondsSince1970 }, "978307200250") == 0.25)
  }

  @Test(arguments: isoDates) func `a date as in ISO 8601`(text: String, expected: Double) throws {
    let decoder = configured { $0.dateDecodingStrategy = .iso8601 }
    #expect(try seconds(decoder, "\"\(text)\"") == expected)
    #expect(try decode([Date].self, "[\"\(text)\"]", with: decoder).count == 1)
    #expect(try decode(Holder<Date?>.self, "{\"value\":\"\(text)\"}", with: decoder).value != nil)
  }

  @Test(arguments: ["", "x", "2001", "2001-01-01", "01/01/2001", "yesterday"])
  func `a text that is no date is refused`(text: String) throws {
    let decoder = configured { $0.dateDecodingStrategy = .iso8601 }
    #expect(try failure(Date.self, "\"\(text)\"", with: decoder) == Failure(.dataCorrupted, [], at: 0))
    #expect(try failure(Date.self, "1", with: decoder).kind == .typeMismatch)
    #expect(try failure(Date.self, "null", with: decoder).kind == .valueNotFound)
  }

  @Test func `a custom strategy gets a decoder of the value, with its path`() throws {
    let path = Box<[String]>([])
    let decoder = configured {
      $0.dateDecodingStrategy = .custom { decoder in
        let names = decoder.codingPath.map(\.stringValue)
        path.set(names)
        let text = try decoder.singleValueContainer().decode(String.self)
        return Date(timeIntervalSinceReferenceDate: Double(text) ?? 0)
      }
    }
    let dates = try decode([Holder<Date>].self, #"[{"value":"1"},{"value":"2"}]"#, with: decoder)
    #expect(dates.map(\.value.timeIntervalSinceReferenceDate) == [1, 2])
    #expect(path.value == ["Index 1", "value"])
    #expect(try failure([Date].self, "[1]", with: decoder) == Failure(.typeMismatch, ["Index 0"], at: 1))
  }

  @Test func `a formatter's dates`() throws {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = "yyyy/MM/dd"
    let foundation = JSONDecoder()
    foundation.dateDecodingStrategy = .formatted(formatter)
    let decoder = FastJSONDecoder(foundation)
    #expect(try seconds(decoder, "\"2001\\/01\\/02\"") == 86_400)
    #expect(try failure(Date.self, "\"x\"", with: decoder).kind == .dataCorrupted)
  }

  @Test func `dates lie in dictionaries and Optionals`() throws {
    let decoder = configured { $0.dateDecodingStrategy = .secondsSince1970 }
    let dates = try decode([String: [Date?]].self, #"{"a":[0,null]}"#, with: decoder)
    let expected: [String: [Date?]] = ["a": [Date(timeIntervalSince1970: 0), nil]]
    #expect(dates == expected)
  }
}

@Suite struct `Data, URLs and other values` {
  @Test func `base64`() throws {
    #expect(try decode(Data.self, "\"AQID\"") == Data([1, 2, 3]))
    #expect(try decode(Data.self, "\"\"") == Data())
    #expect(try decode(Data.self, #""\/\/\/\/""#) == Data([255, 255, 255]))
    #expect(try decode([Data].self, "[\"AQ==\",\"AQI=\"]") == [Data([1]), Data([1, 2])])
    for text in ["\"A\"", "\"*\"", "\"A Q ID\""] {
      #expect(try failure([Data].self, "[\(text)]") == Failure(.dataCorrupted, ["Index 0"], at: 1))
    }
    #expect(try failure(Data.self, "[1]").kind == .typeMismatch)
    #expect(try failure(Data.self, "null").kind == .valueNotFound)
  }

  @Test func `data of an array, and by a custom strategy`() throws {
    let deferred = configured { $0.dataDecodingStrategy = .deferredToData }
    #expect(try decode(Data.self, "[1,2,255]", with: deferred) == Data([1, 2, 255]))
    #expect(isRefused(Data.self, "[256]", with: deferred))
    let custom = configured {
      $0.dataDecodingStrategy = .custom { Data(try $0.singleValueContainer().decode(String.self).utf8) }
    }
    #expect(try decode([String: Data].self, #"{"a":"x"}"#, with: custom) == ["a": Data("x".utf8)])
  }

  @Test func `a URL`() throws {
    #expect(try decode(URL.self, #""https:\/\/example.com\/a?b=c#d""#) == URL(string: "https://example.com/a?b=c#d"))
    let relative = try #require(URL(string: "b"))
    #expect(try decode([String: URL].self, #"{"a":"b"}"#) == ["a": relative])
    #expect(try failure([URL].self, #"["a",""]"#) == Failure(.dataCorrupted, ["Index 1"], at: 5))
    #expect(try failure(URL.self, "1").kind == .typeMismatch)
    #expect(try failure(URL.self, "null").kind == .valueNotFound)
  }

  @Test func `the userInfo reaches each model`() throws {
    struct Informed: Decodable {
      let value: Int?
      init(from decoder: any Decoder) throws {
        let key = try #require(CodingUserInfoKey(rawValue: "number"))
        value = decoder.userInfo[key] as? Int
        let absent = try decoder.container(keyedBy: AnyKey.self).superDecoder()
        #expect(absent.userInfo.count == decoder.userInfo.count)
      }
    }
    let key = try #require(CodingUserInfoKey(rawValue: "number"))
    let decoder = configured { $0.userInfo = [key: 7] }
    #expect(try decode([String: [Informed]].self, #"{"a":[{}]}"#, with: decoder)["a"]?.first?.value == 7)
    decoder.userInfo = [:]
    #expect(try decode(Informed.self, "{}", with: decoder).value == nil)
  }

  @Test func `Optionals in Optionals, in arrays and in dictionaries`() throws {
    let numbers: [Int?] = [1, nil, 3]
    let lists: [[Int?]?] = [[1, nil], nil, []]
    let members: [String: Int?] = ["a": 1, "b": nil]
    #expect(try decode([Int?].self, "[1,null,3]") == numbers)
    #expect(try decode([Int??].self, "[1,null]").count == 2)
    #expect(try decode([[Int?]?].self, "[[1,null],null,[]]") == lists)
    #expect(try decode([String: Int?].self, #"{"a":1,"b":null}"#) == members)
    #expect(try decode(Holder<Int??>.self, #"{"value":null}"#).value == Optional<Int?>.none)
    #expect(try decode(Holder<Int??>.self, #"{"value":1}"#).value == Optional<Int?>.some(1))
    #expect(try failure([Int?].self, "[1,\"x\"]") == Failure(.typeMismatch, ["Index 1"], at: 3))
  }

  @Test func `collections other than arrays`() throws {
    #expect(try decode(Set<Int>.self, "[1,2,2,1]") == [1, 2])
    #expect(try decode(ContiguousArray<String>.self, #"["a"]"#) == ["a"])
    #expect(try decode(ClosedRange<Int>.self, "[1,2]") == 1...2)
    #expect(try decode([[[Double]]].self, "[[[1,2.5],[]],[]]") == [[[1, 2.5], []], []])
    #expect(try decode([String: [String: [Int]]].self, #"{"a":{"b":[1]}}"#) == ["a": ["b": [1]]])
    #expect(isRefused(ClosedRange<Int>.self, "[2,1]"))
  }

  @Test func `raw values, and an identifier`() throws {
    enum Level: Int, Decodable { case low = 1, high }
    #expect(try decode([Level].self, "[1,2]") == [.low, .high])
    #expect(try failure([Level].self, "[1,3]").path == ["Index 1"])
    let text = "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
    #expect(try decode(UUID.self, "\"\(text)\"") == UUID(uuidString: text))
  }

  @Test func `a type with a configuration`() throws {
    struct Scaled: DecodableWithConfiguration {
      let value: Int
      init(from decoder: any Decoder, configuration: Int) throws {
        value = try decoder.singleValueContainer().decode(Int.self) * configuration
      }
    }
    let scaled = try FastJSONDecoder().decode(Scaled.self, from: Data("6".utf8), configuration: 7)
    #expect(scaled.value == 42)
  }

  @Test func `JSON5 and a missing pair of braces are Foundation's work`() throws {
    #expect(try decode([String: Int].self, "{a:+1,/**/}", with: configured { $0.allowsJSON5 = true }) == ["a": 1])
    let decoder = configured { $0.assumesTopLevelDictionary = true }
    #expect(try decode([String: Int].self, #"{"a":1}"#, with: decoder) == ["a": 1])
  }

  @Test func `a decoder takes over the strategies of a JSONDecoder`() throws {
    let foundation = JSONDecoder()
    let key = try #require(CodingUserInfoKey(rawValue: "key"))
    foundation.dateDecodingStrategy = .secondsSince1970
    foundation.keyDecodingStrategy = .convertFromSnakeCase
    foundation.dataDecodingStrategy = .deferredToData
    foundation.userInfo = [key: "x"]
    foundation.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "+", negativeInfinity: "-", nan: "?")
    let decoder = FastJSONDecoder(foundation)
    foundation.keyDecodingStrategy = .useDefaultKeys
    struct Model: Decodable {
      let someDate: Date
      let someData: Data
      let someFloat: Double
    }
    let model = try decode(Model.self, #"{"some_date":0,"some_data":[1],"some_float":"-"}"#, with: decoder)
    #expect(model.someDate == Date(timeIntervalSince1970: 0))
    #expect(model.someData == Data([1]))
    #expect(model.someFloat == -.infinity)
    #expect(decoder.userInfo[key] as? String == "x")
    #expect(!decoder.allowsJSON5 && !decoder.assumesTopLevelDictionary)
  }
}
