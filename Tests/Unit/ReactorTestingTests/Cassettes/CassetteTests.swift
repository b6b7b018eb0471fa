import Foundation
import HTTPTypes
import ReactorTesting
import Testing

@Suite struct `A cassette` {
  private let file = CassetteFile()

  private static let cassette = Cassette(exchanges: [
    Cassette.Exchange(
      request: Cassette.Request(
        method: .post, url: "https://api.test/a?b=c", fields: [.accept: "text/plain"], body: Data("{\"x\": 1}".utf8)),
      outcome: .response(
        Cassette.Response(status: 201, fields: [.eTag: "\"1\"", .contentType: "text/plain"], body: Data("é/\n".utf8)))),
    Cassette.Exchange(
      request: Cassette.Request(url: "https://api.test/image"),
      outcome: .response(Cassette.Response(status: 200, body: Data([0xff, 0xd8])))),
    Cassette.Exchange(request: Cassette.Request(url: "https://api.test/"), outcome: .failure("network: lost")),
  ])

  @Test func `a cassette is a file that people can read`() throws {
    try Self.cassette.write(to: file.url)
    #expect(
      try file.text == #"""
        {
          "exchanges" : [
            {
              "request" : {
                "body" : "{\"x\": 1}",
                "fields" : [
                  "Accept: text/plain"
                ],
                "method" : "POST",
                "url" : "https://api.test/a?b=c"
              },
              "response" : {
                "body" : "é/\n",
                "fields" : [
                  "ETag: \"1\"",
                  "Content-Type: text/plain"
                ],
                "status" : 201
              }
            },
            {
              "request" : {
                "method" : "GET",
                "url" : "https://api.test/image"
              },
              "response" : {
                "base64" : "/9g=",
                "status" : 200
              }
            },
            {
              "failure" : "network: lost",
              "request" : {
                "method" : "GET",
                "url" : "https://api.test/"
              }
            }
          ],
          "version" : 1
        }

        """#)
  }

  @Test func `a cassette is read as it was written`() throws {
    try Self.cassette.write(to: file.url)
    #expect(try Cassette(contentsOf: file.url) == Self.cassette)
  }

  @Test(arguments: [
    Data([0xef, 0xbb, 0xbf, 0x61]), Data([0]), Data("\r\n\u{2028}\u{feff}".utf8), Data([0xed, 0xa0, 0x80]),
    Data([0xc0]),
    Data("e\u{301}é".utf8), Data(),
  ])
  func `a cassette keeps every byte of a body`(body: Data) throws {
    var cassette = Self.cassette
    cassette.exchanges[1].request.body = body
    cassette.exchanges[1].outcome = .response(Cassette.Response(status: 200, body: body))
    try cassette.write(to: file.url)
    #expect(try Cassette(contentsOf: file.url) == cassette)
  }

  @Test func `a cassette keeps fields of one name, in their order`() throws {
    var cassette = Self.cassette
    var fields = HTTPFields()
    for value in ["b", "a", "", "c:d"] { fields.append(HTTPField(name: .accept, value: value)) }
    cassette.exchanges[0].request.fields = fields
    try cassette.write(to: file.url)
    let read = try Cassette(contentsOf: file.url).exchanges[0].request.fields
    #expect(read.map(\.value) == ["b", "a", "", "c:d"])
  }

  private static let request = #""request": {"method": "GET", "url": "u"}"#

  @Test(arguments: [
    ("", ""),
    ("[1]", ""),
    ("{}", "version"),
    (#"{"version": "1"}"#, "version"),
    (#"{"version": 1}"#, "exchanges"),
    (#"{"version": 1, "exchanges": [{}]}"#, "exchanges[0].request"),
    (#"{"version": 1, "exchanges": [{"request": {"url": "u"}}]}"#, "exchanges[0].request.method"),
    (#"{"version": 1, "exchanges": [{"request": {"method": "A B", "url": "u"}}]}"#, "exchanges[0].request.method"),
    (#"{"version": 1, "exchanges": [{"request": {"method": "GET"}}]}"#, "exchanges[0].request.url"),
    (#"{"version": 1, "exchanges": [{\#(request)}]}"#, "exchanges[0].response"),
    (#"{"version": 1, "exchanges": [{\#(request), "response": {"status": 99}}]}"#, "exchanges[0].response.status"),
    (#"{"version": 1, "exchanges": [{\#(request), "response": {"status": 700}}]}"#, "exchanges[0].response.status"),
    (
      #"{"version": 1, "exchanges": [{\#(request), "failure": "f"}, {\#(request), "response": {"status": 200, "fields": ["A"]}}]}"#,
      "exchanges[1].response.fields"
    ),
    (
      #"{"version": 1, "exchanges": [{\#(request), "response": {"status": 200, "fields": ["A: \u0000"]}}]}"#,
      "exchanges[0].response.fields"
    ),
    (
      #"{"version": 1, "exchanges": [{\#(request), "response": {"status": 200, "base64": "?"}}]}"#,
      "exchanges[0].response.base64"
    ),
  ])
  func `a cassette that is malformed says where`(text: String, path: String) throws {
    try file.write(text)
    let error = #expect(throws: CassetteError.self) { try Cassette(contentsOf: file.url) }
    guard case .malformed(path, let reason) = error else {
      Issue.record("unexpected: \(String(describing: error))" as Comment)
      return
    }
    #expect(!reason.isEmpty)
    #expect(path.isEmpty || error.map { "\($0)".contains(path) } == true)
  }

  @Test func `a cassette of another version says which, whatever else it contains`() throws {
    try file.write(#"{"version": 2, "reels": []}"#)
    #expect(throws: CassetteError.unknownVersion(2)) { try Cassette(contentsOf: file.url) }
  }

  @Test func `a cassette that is missing is named`() {
    let error = #expect(throws: CassetteError.self) { try Cassette(contentsOf: file.url) }
    #expect(error.map { "\($0)".contains("api.json") } == true)
  }

  @Test func `a cassette with any byte changed is read, or is an error`() throws {
    try Self.cassette.write(to: file.url)
    let bytes = Array(try Data(contentsOf: file.url))
    for index in bytes.indices {
      for byte in [0, 0x22, 0x30, 0x5c, 0x7d, 0xff] as [UInt8] {
        var broken = bytes
        broken[index] = byte
        _ = try? Cassette(Data(broken))
        _ = try? Cassette(Data(bytes[..<index]))
      }
    }
  }
}
