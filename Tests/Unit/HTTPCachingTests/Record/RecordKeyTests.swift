import Foundation
import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite struct `Record key` {
  private static let url = "https://api.example.com/v1/articles?page=2"

  /// Each differs from each other in one thing that a key is made of.
  static let different: [RecordKey] =
    [
      RecordKey(method: .get, url: url), RecordKey(method: .head, url: url), RecordKey(method: .post, url: url),
      RecordKey(method: .get, url: url + "0"), RecordKey(method: .get, url: url.uppercased()),
      RecordKey(method: .get, url: "https://api.example.com/v1/articles?page=2&"),
      RecordKey(method: .post, url: url, body: Data()), RecordKey(method: .post, url: url, body: Data("a".utf8)),
      RecordKey(method: .post, url: url, body: Data("none".utf8)),
    ]
    + fields.map { RecordKey(method: .get, url: url, identityFields: $0) }
    + scopes.map { RecordKey(method: .get, url: url, scope: Scope($0)) }

  static let fields: [HTTPFields] = [
    [.accept: ""], [.accept: "a"], [.accept: "b"], [.acceptLanguage: "a"], [.accept: "a", .acceptLanguage: "a"],
    [.accept: "a", .accept: "b"], [.accept: "b", .accept: "a"], [.accept: "a, b"],
  ]

  static let scopes = [
    "", "alice", "Alice", "alice ", "alice\n", "\nalice", "alice\r\n", "5\nalice", "a\u{0}b", "日本",
    "\u{1F469}\u{200D}\u{1F4BB}",
    "reactor-key/1\n6\nshared\nGET \(url)\nbody=none", "\u{E9}", "e\u{301}", String(repeating: "long ", count: 10_000),
  ]

  @Test func `different resources never share a key`() {
    #expect(Set(Self.different.map(\.digest)).count == Self.different.count)
    #expect(Set(Self.different.map { Data($0.identity.utf8) }).count == Self.different.count)
  }

  @Test(arguments: different.indices)
  func `a key is made again from its identity`(_ index: Int) throws {
    let key = Self.different[index]
    let again = try #require(RecordKey(identity: key.identity))
    #expect(again == key && again.hashValue == key.hashValue && again.digest == key.digest)
    #expect(Data(again.identity.utf8) == Data(key.identity.utf8))
    #expect(Data(again.scope.name.utf8) == Data(key.scope.name.utf8))
    #expect(again.method == key.method && again.url == key.url && again.description == key.description)
  }

  @Test(arguments: [
    "", "reactor-key/1", "reactor-key/2\n6\nshared\nGET https://a/\nbody=none", "reactor-key/1\n6\nshared",
    "reactor-key/1\n-1\nshared\nGET https://a/\nbody=none", "reactor-key/1\n06\nshared\nGET https://a/\nbody=none",
    "reactor-key/1\n99999999999999999999\nshared\nGET https://a/\nbody=none",
    "reactor-key/1\n7\nshared\nGET https://a/\nbody=none", "reactor-key/1\n5\nshared\nGET https://a/\nbody=none",
    "reactor-key/1\n6\nshared\nGEThttps://a/\nbody=none", "reactor-key/1\n6\nshared\nGET https://a/",
    "reactor-key/1\n6\nshared\nG@T https://a/\nbody=none", "reactor-key/1\n1\né\nGET https://a/\nbody=none",
  ])
  func `a text that is no identity makes no key`(_ text: String) {
    #expect(RecordKey(identity: text) == nil)
  }

  @Test func `a cut or changed identity never makes the same key, nor a crash`() {
    let key = RecordKey(method: .get, url: Self.url, identityFields: [.accept: "a"], scope: "ü\n")
    let bytes = Array(key.identity.utf8)
    for index in bytes.indices {
      #expect(RecordKey(identity: String(decoding: bytes.prefix(index), as: UTF8.self)) != key)
      var changed = bytes
      changed[index] ^= 1
      #expect(RecordKey(identity: String(decoding: changed, as: UTF8.self)) != key)
    }
  }

  @Test func `the encoding is pinned: a change of it loses every record on every disk`() {
    let key = RecordKey(
      method: .post, url: "https://api.example.com/search?q=a&token=t0p", body: Data("{}".utf8),
      identityFields: [.acceptLanguage: "de"], scope: "alice", secretQueryItems: ["token"],
      secretKey: RecordKey.SecretKey(bytes: 0..<32))
    #expect(
      key.identity == """
        reactor-key/1
        5
        alice
        POST https://api.example.com/search?q=a&token=hmac-0d854468e20784d7cd0b990c258d8a31a965a4e2247859e1867054d00b15a0b9
        body=44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a
        accept-language=bb2dd7f8eb5e1bab1ea839622059c7ff17f5b2e3d123a0c8e1d24023116fa604
        """)
    #expect(key.digest == "43cf8c971d9f8717739688a965a03895e00a6e40929ce7a8edf4188835f9717a")
  }

  @Test(arguments: ["token=t0p-s3cret", "TOKEN=t0p-s3cret", "a=1&token=t0p-s3cret&b=2", "%74oken=t0p-s3cret"])
  func `a secret query item is digested wherever it could be read`(_ query: String) throws {
    let key = RecordKey(method: .get, url: "https://a.example/x?\(query)", secretQueryItems: ["Token"])
    for text in [key.identity, key.url, key.description, String(reflecting: key), "\(key)"] {
      #expect(!text.contains("t0p-s3cret"))
    }
    var dumped = ""
    dump(key, to: &dumped)
    #expect(!dumped.contains("t0p-s3cret"))
    let other = RecordKey(
      method: .get, url: "https://a.example/x?\(query.replacing("s3cret", with: "other"))", secretQueryItems: ["Token"])
    #expect(other != key)
    #expect(try #require(RecordKey(identity: key.identity)) == key)
  }

  @Test func `the values of identity fields are digested`() {
    let key = RecordKey(method: .get, url: Self.url, identityFields: [.accept: "private-value"])
    #expect(!key.identity.contains("private-value"))
  }

  @Test func `the order of fields with different names does not matter`() {
    let one = RecordKey(method: .get, url: Self.url, identityFields: [.accept: "a", .acceptLanguage: "b"])
    let two = RecordKey(method: .get, url: Self.url, identityFields: [.acceptLanguage: "b", .accept: "a"])
    #expect(one == two && one.identity == two.identity)
  }
}
