import Foundation
import HTTPTypes
import Testing

@testable import HTTPCaching

extension HTTPFields {
  /// Several values for a name are several fields.
  fileprivate init(_ pairs: KeyValuePairs<String, String>) {
    self.init(pairs.compactMap { name, value in HTTPField.Name(name).map { HTTPField(name: $0, value: value) } })
  }

  fileprivate subscript(named name: String) -> String? { HTTPField.Name(name).flatMap { self[$0] } }
}

private let earlier = Date(timeIntervalSince1970: 1_000)
private let later = Date(timeIntervalSince1970: 2_000)
private let key = RecordKey(method: .get, url: "https://api.example.com/notes")

private func head(
  _ fields: KeyValuePairs<String, String>, status: HTTPResponse.Status = .ok, invalidatedAt: Date? = nil,
  localModel: String? = nil, variant: Record.Variant? = nil
) -> Record.Head {
  Record.Head(
    identity: key.identity, status: status, fields: HTTPFields(fields), requestedAt: earlier, receivedAt: earlier,
    invalidatedAt: invalidatedAt, localModel: localModel, variant: variant)
}

@Suite struct `A conditional request` {
  private func request(_ fields: KeyValuePairs<String, String> = [:]) -> HTTPRequest {
    HTTPRequest(
      method: .get, scheme: "https", authority: "api.example.com", path: "/notes", headerFields: HTTPFields(fields))
  }

  @Test func `a conditional request carries the validators of the stored record`() {
    let conditional = HTTPCache.conditional(
      request(["Accept": "text/plain"]), on: head(["ETag": "\"1\"", "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"]))
    #expect(conditional.headerFields[.ifNoneMatch] == "\"1\"")
    #expect(conditional.headerFields[.ifModifiedSince] == "Thu, 01 Jan 2026 00:00:00 GMT")
    #expect(conditional.headerFields[.accept] == "text/plain")
  }

  @Test func `a conditional request carries the validator that is stored`() {
    let conditional = HTTPCache.conditional(request(), on: head(["ETag": "W/\"1\""]))
    #expect(conditional.headerFields[.ifNoneMatch] == "W/\"1\"")
    #expect(conditional.headerFields.count == 1)
  }

  @Test func `a conditional request is the request itself where nothing is stored or nothing validates`() {
    let request = request(["Accept": "text/plain"])
    #expect(HTTPCache.conditional(request, on: nil) == request)
    #expect(HTTPCache.conditional(request, on: head(["Date": "Thu, 01 Jan 2026 00:00:00 GMT"])) == request)
  }

  @Test(arguments: ["If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range", "Range"])
  func `a conditional request keeps its own conditions, and gets no others`(name: String) {
    let request = request([name: "own"])
    #expect(HTTPCache.conditional(request, on: head(["ETag": "\"1\"", "Last-Modified": "then"])) == request)
  }

  @Test func `a conditional request never validates what was written locally`() {
    #expect(HTTPCache.conditional(request(), on: head(["ETag": "\"1\""], localModel: "Note")) == request())
  }

  @Test(arguments: [HTTPResponse.Status.partialContent, .init(code: 226), .notModified])
  func `a conditional request never validates what is not a whole response`(status: HTTPResponse.Status) {
    #expect(HTTPCache.conditional(request(), on: head(["ETag": "\"1\""], status: status)) == request())
  }

  @Test(arguments: [HTTPResponse.Status.notFound, .noContent, .movedPermanently])
  func `another status than 200 is validated only by its entity tag`(status: HTTPResponse.Status) {
    let stored = head(["ETag": "\"1\"", "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"], status: status)
    #expect(HTTPCache.conditional(request(), on: stored).headerFields == [.ifNoneMatch: "\"1\""])
  }
}

@Suite struct `An answer of 304` {
  private func updated(
    _ fields: KeyValuePairs<String, String>, stored: Record.Head?
  ) -> Record.Head? {
    let response = HTTPResponse(status: .notModified, headerFields: HTTPFields(fields))
    let answer = HTTPCache.judge(
      response, body: Data(), to: [:], for: key, stored: stored, requestedAt: later,
      receivedAt: later.addingTimeInterval(1))
    if case .notModified(let head) = answer { return head }
    return nil
  }

  @Test func `updates what it names, adds what is new, and keeps the rest`() throws {
    let stored = head(["ETag": "\"1\"", "Cache-Control": "max-age=1", "X-Kept": "yes"])
    let head = try #require(updated(["cache-control": "max-age=9", "X-New": "yes"], stored: stored))
    #expect(
      head.fields == HTTPFields(["ETag": "\"1\"", "X-Kept": "yes", "Cache-Control": "max-age=9", "X-New": "yes"]))
  }

  @Test func `an answer of 304 replaces all lines of a field by its own`() throws {
    let stored = head(["Link": "<1>", "Link": "<2>", "Link": "<3>"])
    let head = try #require(updated(["Link": "<4>", "Link": "<5>"], stored: stored))
    #expect(head.fields[values: try #require(HTTPField.Name("Link"))] == ["<4>", "<5>"])
  }

  @Test(arguments: ["Content-Length", "Content-Encoding", "Content-Range"])
  func `an answer of 304 keeps what describes the stored body`(name: String) throws {
    #expect(try #require(updated([name: "new"], stored: head([name: "old"]))).fields[named: name] == "old")
    #expect(try #require(updated([name: "new"], stored: head([:]))).fields[named: name] == nil)
  }

  @Test func `renews the times, and takes an invalidation back`() throws {
    let head = try #require(updated([:], stored: head([:], invalidatedAt: earlier)))
    #expect(head.requestedAt == later)
    #expect(head.receivedAt == later.addingTimeInterval(1))
    #expect(head.invalidatedAt == nil)
  }

  @Test func `an answer of 304 keeps the identity, the status and the variant`() throws {
    let variant = Record.Variant(response: [.vary: "Accept"], request: [.accept: "text/plain"])
    let head = try #require(updated(["ETag": "\"2\""], stored: head([:], variant: variant)))
    #expect(head.identity == key.identity)
    #expect(head.status == .ok)
    #expect(head.variant == variant)
  }

  @Test func `an answer of 304 brings no secret and nothing of the connection`() throws {
    let head = try #require(
      updated(["Set-Cookie": "id=secret", "Connection": "X-Hop", "X-Hop": "1"], stored: head([:])))
    #expect(head.fields == [:])
  }

  @Test func `an answer of 304 keeps the charset of the stored body, and takes another type`() throws {
    for (own, new, then) in [
      ("text/plain; charset=iso-8859-1", "text/plain; charset=utf-8", "text/plain; charset=iso-8859-1"),
      ("text/plain", "text/plain; charset=iso-8859-1", "text/plain"),
      ("text/plain; charset=iso-8859-1", "text/plain", "text/plain; charset=iso-8859-1"),
      ("text/plain", "text/plain; Charset=\"UTF-8\"", "text/plain; Charset=\"UTF-8\""),
      ("text/plain; charset=utf-8", "text/html", "text/html"),
    ] {
      #expect(
        try #require(updated(["Content-Type": new], stored: head(["Content-Type": own]))).fields[.contentType] == then)
    }
  }

  @Test func `an answer of 304 is a new response where nothing was validated`() {
    #expect(updated([:], stored: nil) == nil)
  }
}

@Suite struct `A response that is received` {
  private func record(
    _ fields: KeyValuePairs<String, String>, status: HTTPResponse.Status = .ok, to request: HTTPFields = [:]
  ) throws -> Record {
    let answer = HTTPCache.judge(
      HTTPResponse(status: status, headerFields: HTTPFields(fields)), body: Data("body".utf8), to: request, for: key,
      stored: head(["ETag": "\"old\""], invalidatedAt: earlier), requestedAt: earlier, receivedAt: later)
    guard case .received(let record) = answer else { throw CancellationError() }
    return record
  }

  @Test func `a response that is received is kept as it came`() throws {
    let record = try record(["Content-Type": "application/json", "ETag": "\"1\""], status: .created)
    #expect(record.body == Data("body".utf8))
    #expect(
      record.head
        == Record.Head(
          identity: key.identity, status: .created,
          fields: HTTPFields(["Content-Type": "application/json", "ETag": "\"1\""]), requestedAt: earlier,
          receivedAt: later))
  }

  @Test(arguments: [
    "Set-Cookie", "Authorization", "Proxy-Authorization", "Cookie", "Connection", "Keep-Alive", "Proxy-Connection",
    "Proxy-Authenticate", "Proxy-Authentication-Info", "TE", "Trailer", "Transfer-Encoding", "Upgrade",
  ])
  func `a response that is received is kept without secrets and what belongs to the connection`(name: String) throws {
    #expect(try record([name: "secret", "X-Kept": "yes"]).head.fields == HTTPFields(["X-Kept": "yes"]))
    #expect(try record([name.lowercased(): "secret"]).head.fields == [:])
  }

  @Test func `a response that is received is kept without what its Connection lists, in all lines`() throws {
    let record = try record([
      "Connection": "close, X-One ,x-two", "Connection": "X-Three", "X-One": "1", "X-Two": "2", "X-Three": "3",
      "X-Four": "4",
    ])
    #expect(record.head.fields == HTTPFields(["X-Four": "4"]))
  }

  @Test func `a response that is received is kept with the variant that it is`() throws {
    let record = try record(["Vary": "Accept-Language"], to: [.acceptLanguage: "de"])
    #expect(record.head.variant?.matches([.acceptLanguage: "de"]) == true)
    #expect(record.head.variant?.matches([.acceptLanguage: "en"]) == false)
  }

  private static let storable: [(HTTPResponse.Status, String?, Bool)] = [
    (.ok, nil, true), (.created, nil, true), (.noContent, nil, true), (.partialContent, nil, false),
    (.notModified, nil, false), (.notFound, nil, false), (.internalServerError, nil, false),
    (.movedPermanently, nil, false), (.ok, "no-store", false), (.ok, "no-cache", true),
  ]

  @Test(arguments: storable) func `may be stored where it is a success that does not forbid it`(
    status: HTTPResponse.Status, cacheControl: String?, isStorable: Bool
  ) {
    var head = head([:], status: status)
    head.fields[.cacheControl] = cacheControl
    #expect(head.isStorable == isStorable)
  }
}

@Suite struct `A variant` {
  private func variant(_ vary: String..., request: HTTPFields = [:]) -> Record.Variant? {
    var fields: HTTPFields = [:]
    fields[values: .vary] = vary
    return Record.Variant(response: fields, request: request)
  }

  @Test func `a response that does not vary has no variant`() {
    #expect(variant() == nil)
    #expect(variant("") == nil)
    #expect(variant(" , ,") == nil)
  }

  @Test func `a variant holds the names once, lower-cased and sorted, over several lines`() {
    #expect(variant("Origin, accept-language", "ACCEPT,origin")?.names == ["accept", "accept-language", "origin"])
  }

  @Test func `a variant is one, whatever the order and the case of the names`() {
    let request: HTTPFields = [.accept: "a", .acceptLanguage: "de"]
    #expect(
      variant("Accept, Accept-Language", request: request) == variant("accept-language", "ACCEPT", request: request))
  }

  @Test func `a variant matches only requests with the same values of the named fields`() throws {
    let variant = try #require(self.variant("Accept-Language", request: [.acceptLanguage: "de", .accept: "a"]))
    #expect(variant.matches([.acceptLanguage: "de", .accept: "b"]))
    #expect(!variant.matches([.acceptLanguage: "en", .accept: "a"]))
    #expect(!variant.matches([.accept: "a"]))
  }

  @Test func `a variant distinguishes a missing field from an empty one`() throws {
    let variant = try #require(self.variant("Accept-Language"))
    #expect(variant.matches([:]))
    #expect(!variant.matches([.acceptLanguage: ""]))
  }

  @Test func `is the same in one line and in two, with white space or without, and another in another order`() throws {
    let variant = try #require(self.variant("Accept", request: HTTPFields(["Accept": "a", "Accept": "b"])))
    #expect(variant.matches(HTTPFields(["Accept": "a", "Accept": "b"])))
    #expect(variant.matches(HTTPFields(["Accept": "a, b"])))
    #expect(variant.matches(HTTPFields(["Accept": " a,b ,"])))
    #expect(!variant.matches(HTTPFields(["Accept": "b", "Accept": "a"])))
    #expect(!variant.matches(HTTPFields(["Accept": "\"a, b\""])))
  }

  @Test(arguments: ["Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language"])
  func `a variant is the same with empty elements of a list`(name: String) throws {
    let variant = try #require(self.variant(name, request: HTTPFields([name: "a,,b"])))
    for value in ["a,b", " a , b ,", ",a,b"] { #expect(variant.matches(HTTPFields([name: value]))) }
  }

  @Test(arguments: ["X-User", "Cookie", "User-Agent", "Authorization"])
  func `a variant is another with another value of a field that may be no list`(name: String) throws {
    let values = ["a,,b", "a,b", "a , b ,", ",a,b", "a b", "a  b", "\"a, b\"", "", ",", "a,B"]
    for (index, value) in values.enumerated() {
      let variant = try #require(self.variant(name, request: HTTPFields([name: value])))
      for (other, text) in values.enumerated() {
        #expect(variant.matches(HTTPFields([name: text])) == (index == other), "\(value) and \(text)")
      }
      #expect(variant.matches(HTTPFields([name: " \(value)\t"])))
    }
  }

  @Test func `a variant does not mistake one field's value for another field`() throws {
    let request: HTTPFields = [.accept: "accept-language"]
    let variant = try #require(self.variant("Accept, Accept-Language", request: request))
    #expect(variant.matches(request))
    #expect(!variant.matches([.acceptLanguage: "accept-language"]))
  }

  @Test(arguments: ["*", "Accept, *", " * "])
  func `a variant matches no request where the response varies on anything`(vary: String) throws {
    let variant = try #require(self.variant(vary))
    #expect(variant.names == ["*"])
    #expect(!variant.matches([:]))
  }

  @Test func `a variant with an invalid name matches no request`() throws {
    let variant = try #require(self.variant("Accept@Language"))
    #expect(!variant.matches([:]))
  }

  @Test func `a variant holds no value of the request`() {
    let variant = variant("Authorization", request: [.authorization: "Bearer secret"])
    #expect(!"\(String(reflecting: variant))".contains("secret"))
  }
}
