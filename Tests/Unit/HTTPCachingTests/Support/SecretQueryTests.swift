import HTTPTypes
import ReactorTesting
import Testing

@testable import HTTPCaching

@Suite(.timeLimit(.minutes(5))) struct SecretQueryTests {
  @Test(
    arguments: [
      ("https://h/a?token=abc&b=1", "b=1"), ("https://h/a?TOKEN=abc", "TOKEN="),
      ("https://h/a?%74oken=abc", "%74oken="),
      ("https://h/a?b=1&token=abc&token=abcd", "b=1"), ("https://h/a?token=abc=abc", "token="),
      ("https://h/a?t%6Fken=a&x=abc", "x=abc"),
    ])
  func `a secret item's value is replaced`(url: String, kept: String) {
    let redacted = SecretQuery.redact(url, names: ["Token"], digests: .ofProcess)
    #expect(redacted.contains(kept))
    #expect(redacted.contains("hmac-"))
    #expect(!redacted.contains("=abc&") && !redacted.hasSuffix("=abc") || kept == "x=abc")
    #expect(redacted != SecretQuery.redact(url + "x", names: ["token"], digests: .ofProcess))
  }

  @Test(arguments: [
    "https://h/token=abc", "https://h/a?token", "https://h/a?atoken=abc", "https://h/a?", "https://h/a?b=token=1",
  ])
  func `items that are not secret stay`(url: String) {
    #expect(SecretQuery.redact(url, names: ["token"], digests: .ofProcess) == url)
  }

  /// Each byte is read once: read again from each start, that would take hours.
  @Test(arguments: ["?", "?a", "?a?=", "#x=", "&token", "?token%", "?token=b?"])
  func `a field of any length is read once`(item: String) {
    let value = String(repeating: item, count: 200_000)
    let fields = SecretQuery.redact([.location: value], names: ["token"], digests: .ofProcess)
    let isSecret = item.contains("token=")
    #expect((fields[.location]?.utf8.count ?? 0) == (isSecret ? 76 : value.utf8.count))
  }

  @Test(
    arguments: [
      ("/a?token=abc&b=1", "/a?token=#&b=1"), ("https://h/a?b=1&TOKEN=abc#c", "https://h/a?b=1&TOKEN=##c"),
      (
        "<https://h/a?token=abc>; rel=next, </b?page=2&%74oken=abc>; rel=\"x\"",
        "<https://h/a?token=#>; rel=next, </b?page=2&%74oken=#>; rel=\"x\""
      ),
      ("/a#token=abc", "/a#token=#"), ("/a?next=/b?token=abc", "/a?next=/b?token=#"), ("?token=abc", "?token=#"),
      ("/a?token=abc&token=abc", "/a?token=#&token=#"), ("/token=abc", "/token=abc"), ("/a?token", "/a?token"),
      ("/a?tokens=abc&x=token=abc", "/a?tokens=abc&x=token=abc"), ("?&#", "?&#"), ("", ""),
    ])
  func `a secret item's value is replaced in the URLs of fields`(value: String, redacted: String) throws {
    let link = try #require(HTTPField.Name("Link"))
    let digest = String(decoding: SecretDigests.ofProcess.digest(Array("abc".utf8)), as: UTF8.self)
    for name in value.hasPrefix("<") ? [link] : [HTTPField.Name.location, .contentLocation, link] {
      let fields = SecretQuery.redact([name: value, .eTag: value], names: ["Token"], digests: .ofProcess)
      #expect(fields[name] == redacted.replacing("=#", with: "=\(digest)"))
      #expect(fields[.eTag] == value)
    }
    #expect(SecretQuery.redact([link: value], names: [], digests: .ofProcess)[link] == value)
  }
}

/// The places of a secret in a URL, in every spelling and encoding.
@Suite(.timeLimit(.minutes(5))) struct `A secret in a URL` {
  private static let names: Set<String> = ["access_token", "Token", "password"]

  @Test(arguments: [
    "?a=1;access_token=s3cret", "?a=1&access_token[]=s3cret", "?access_token%5B%5D=s3cret", "?user[password]=s3cret",
    "?a=1#access_token=s3cret", "#access_token=s3cret", "?next=https://b/?access_token=s3cret",
    "?next=https%3A%2F%2Fb%2F%3Fx%3D1%26access_token%3Ds3cret", "?n=%253Ftoken%253Ds3cret",
    "?n=%25253ftoken%25253ds3cret",
    "?token=a%26s3cret", "?token=a;s3cret", "?token=a<s3cret", "?token=a s3cret", "?n=%3Ftoken%3Da%20s3cret",
    "?n=%3Ftoken%3Da%2526s3cret", "?n=%2%33token=1&n=%3F%74oken=s3cret", "?%20token=s3cret", "?+token=s3cret",
    "?next=https://u:s3cret@b/", "?next=https%3A%2F%2Fu%3As3cret%40b%2F", "?next=//s3cret@b/",
    "?n=%3F%25%37%34oken=s3cret",
  ])
  func `a secret in a URL is replaced, and tells two URLs apart`(end: String) {
    let url = "https://h/a\(end)"
    let redacted = SecretQuery.redact(url, names: Self.names, digests: .ofProcess)
    #expect(!redacted.contains("s3cret"), "\(redacted)")
    #expect(redacted.contains("hmac-") && redacted.hasPrefix("https://h/a"))
    #expect(
      redacted != SecretQuery.redact(url.replacing("s3cret", with: "another"), names: Self.names, digests: .ofProcess))
  }

  @Test(arguments: [
    ("https://u:s3cret@h/a", "https://#@h/a"), ("//u@h/a", "//#@h/a"), ("https://u:a%2Fb@h/", "https://#@h/"),
    ("<https://u@h/>; rel=next, </a?token=1>", "<https://#@h/>; rel=next, </a?token=#>"),
    ("/a//b@c", "/a//b@c"), ("https://h/a@b", "https://h/a@b"), ("https://h?a@b", "https://h?a@b"),
    ("https://h/a?b=token=1", "https://h/a?b=token=1"), ("/tokens;a=1", "/tokens;a=1"),
  ])
  func `a secret in a URL is a user and password too`(text: String, redacted: String) {
    #expect(SecretQuery.redact(text: text, names: Self.names, with: "#") == redacted)
  }

  /// Nested encodings, and starts of URLs within URLs, are looked at a fixed number of times.
  @Test(arguments: [
    "%25", "%2525", "://", "=//", "=%2F%2F", "=%252F%252F", "%", "%3", "&token", ";", "?a[", "@", "=", "%3D",
  ])
  func `a secret in a URL is looked for in time that grows with the length`(piece: String) {
    let url = "https://h/?" + String(repeating: piece, count: 100_000)
    #expect(SecretQuery.redact(url, names: ["token"], digests: .ofProcess).utf8.count > 64)
  }

  /// A generator of URLs whose secret is nested, encoded and surrounded at random: whatever the
  /// spelling, it is found.
  @Test(arguments: 0..<300 as Range<UInt64>) func `a secret in a URL is found at any depth`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let names = ["access_token", "ACCESS_TOKEN", "access_token[]", "a[access_token]", "password"]
    let name = names.randomElement(using: &random) ?? ""
    var url = ["?", "?a=1&", "?a=1;", "#", "?a#b=2&"].randomElement(using: &random) ?? ""
    url += "\(name)=s3cret"
    for _ in 0..<Int.random(in: 0...5, using: &random) {
      let inner = Bool.random(using: &random) ? "https://b.example/x\(url)" : url
      let encoded = inner.utf8.map { byte in
        let isPlain = byte >= 0x30 && byte <= 0x39 || byte >= 0x61 && byte <= 0x7A
        return isPlain && (byte != 0x61 || Bool.random(using: &random))
          ? String(UnicodeScalar(byte)) : "%" + Hex.encode([byte])
      }.joined()
      url = ["?next=", "?a=1&u=", ";u="].randomElement(using: &random).map { "\($0)\(encoded)&z=1" } ?? ""
    }
    #expect(
      !SecretQuery.redact("https://h/a\(url)", names: Self.names, digests: .ofProcess).contains("s3cret"), "\(url)")
  }
}

/// Stored fields as a client of the proxy gets them.
@Suite struct `A stored secret` {
  private static let stored = SecretQuery.redact(
    [.location: "/b?token=s3cret", .contentLocation: "/a?token=s3cret", .eTag: "\"1\""], names: ["token"],
    digests: .ofProcess)

  @Test func `a stored secret is given back to the client whose request holds it`() {
    let fields = SecretQuery.restore(
      Self.stored, from: "https://h/a?token=s3cret", names: ["token"], digests: .ofProcess)
    #expect(fields?[.location] == "/b?token=s3cret" && fields?[.contentLocation] == "/a?token=s3cret")
  }

  @Test func `a stored secret cannot be read with another store's key`() {
    let other = SecretDigests(RecordKey.SecretKey())
    #expect(
      SecretQuery.restore(Self.stored, from: "https://h/a?token=s3cret", names: ["token"], digests: other) == nil)
  }

  @Test func `a stored secret is given to no other client`() {
    #expect(
      SecretQuery.restore(Self.stored, from: "https://h/a?token=other", names: ["token"], digests: .ofProcess) == nil)
    #expect(SecretQuery.restore(Self.stored, from: "https://h/a", names: ["token"], digests: .ofProcess) == nil)
    #expect(
      SecretQuery.restore([.eTag: "1"], from: "https://h/a", names: ["token"], digests: .ofProcess) == [.eTag: "1"])
  }
}
