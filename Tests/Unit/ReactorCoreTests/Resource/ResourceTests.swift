import Foundation
import HTTPTypes
import Testing

@testable import ReactorCore

struct ResourceTests {
  static let base: Resource = {
    var resource = Resource(
      "articles", method: .post, query: ["page": "1"], headers: [.accept: "application/json"], body: Data("{}".utf8))
    resource.identityHeaders = [.acceptLanguage]
    resource.freshFor = .seconds(60)
    resource.isReadOnly = true
    resource.idempotencyKey = "1"
    return resource
  }()

  static let changes: [@Sendable (inout Resource) -> Void] = [
    { $0.method = .put }, { $0.path = "article" }, { $0.query = [URLQueryItem(name: "page", value: "2")] },
    { $0.query.append(URLQueryItem(name: "a", value: nil)) }, { $0.headers[.accept] = "text/html" },
    { $0.headers = [:] },
    { $0.body = nil }, { $0.body = Data() }, { $0.identityHeaders = [] }, { $0.freshFor = nil },
    { $0.freshFor = .zero },
    { $0.isReadOnly = nil }, { $0.isReadOnly = false }, { $0.idempotencyKey = nil }, { $0.idempotencyKey = "2" },
  ]

  @Test(arguments: changes.indices)
  func `every property distinguishes two resources, and a change leaves the other copy unchanged`(index: Int) {
    let original = Self.base
    var copy = original
    Self.changes[index](&copy)
    #expect(copy != original)
    #expect(original == Self.base)
    var same = Self.base
    Self.changes[index](&same)
    #expect(copy == same)
    #expect(copy.hashValue == same.hashValue)
    #expect(Set([original, copy, same]).count == 2)
  }

  @Test func `a value set back makes an equal resource`() {
    var resource = Self.base
    resource.path = "other"
    resource.path = "articles"
    #expect(resource == Self.base)
    #expect(resource.hashValue == Self.base.hashValue)
  }

  @Test func `a literal is a GET of that path`() {
    let resource: Resource = "articles/1"
    #expect(resource == Resource("articles/1"))
    #expect(resource.method == .get)
    #expect(resource.query.isEmpty && resource.headers.isEmpty && resource.body == nil)
  }

  @Test func `a query keeps its order and its duplicates`() {
    let resource = Resource("a", query: ["b": "1", "a": "2", "b": "3"])
    #expect(resource.query.map { "\($0.name)=\($0.value ?? "")" } == ["b=1", "a=2", "b=3"])
  }

  @Test(
    arguments: [
      (HTTPRequest.Method.get, nil, true), (.head, nil, true), (.post, nil, false), (.put, nil, false),
      (.options, nil, false),
      (.post, true, true), (.get, false, false),
    ])
  func `GET and HEAD read only, unless it is said otherwise`(method: HTTPRequest.Method, said: Bool?, readsOnly: Bool) {
    var resource = Resource("a", method: method)
    resource.isReadOnly = said
    #expect(resource.readsOnly == readsOnly)
  }

  @Test func `nothing that shows a resource shows a secret`() {
    var resource = Resource(
      "articles?token=secret", query: ["key": "secret"], headers: [.authorization: "secret"], body: Data("secret".utf8))
    resource.idempotencyKey = "secret"
    var dumped = ""
    dump(resource, to: &dumped)
    for shown in [
      "\(resource)", String(reflecting: resource), dumped, String(describing: [resource]),
      "\(Optional(resource) as Any)",
    ] {
      #expect(!shown.contains("secret"))
      #expect(shown.contains("GET articles"))
    }
  }
}

struct ResourceJSONTests {
  private struct Draft: Encodable { var title = "a/b", author = "z", count = 1 }

  @Test func `the body is JSON with its keys sorted`() throws {
    let resource = try Resource("articles", method: .post, query: ["a": "1"], json: Draft())
    #expect(resource.body == Data(#"{"author":"z","count":1,"title":"a/b"}"#.utf8))
    #expect(resource.headers[.contentType] == "application/json")
    #expect(resource.method == .post)
    #expect(resource.query.count == 1)
    #expect(try Resource("articles", method: .post, query: ["a": "1"], json: Draft()) == resource)
  }

  @Test func `a caller's Content-Type stays`() throws {
    let resource = try Resource(
      "a", method: .patch, headers: [.contentType: "application/merge-patch+json"], json: Draft())
    #expect(resource.headers[values: .contentType] == ["application/merge-patch+json"])
  }

  @Test func `a caller's encoder is used`() throws {
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    struct Body: Encodable { var firstName = "a" }
    #expect(try Resource("a", method: .post, json: Body(), encoder: encoder).body == Data(#"{"first_name":"a"}"#.utf8))
  }

  @Test(arguments: [Double.infinity, .nan])
  func `a value that JSON cannot hold is an invalid resource that names its place`(value: Double) {
    struct Body: Encodable { var secret = "hunter2", inner: [String: Double] }
    #expect {
      try Resource("a", method: .post, json: Body(inner: ["x": value]))
    } throws: { error in
      guard case ReactorError.invalidResource(let reason) = error else { return false }
      return reason.contains("inner.x") && reason.contains("Body") && !reason.contains("hunter2")
    }
  }

  @Test func `an error of the value's own is an invalid resource`() {
    struct Refusal: Error {}
    struct Body: Encodable { func encode(to encoder: any Encoder) throws { throw Refusal() } }
    #expect {
      try Resource("a", method: .post, json: Body())
    } throws: { error in
      guard case ReactorError.invalidResource = error else { return false }
      return true
    }
  }
}
