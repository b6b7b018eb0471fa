public import Foundation
public import HTTPTypes
import Synchronization

/// The key under which a record is stored: the method, the URL, the body's digest, the identity
/// fields' digests and the scope.
///
/// It holds no model type, so two types over one URL share the record. The encoding is stable and carries a version: a
/// key made by one release finds the record of another, or finds nothing.
public struct RecordKey: Hashable, Sendable, CustomStringConvertible {
  private let storage: Storage

  /// The versioned text that the key is: equal keys have equal identities, and no others have.
  public var identity: String { storage.identity }
  /// SHA-256 of ``identity``, in 64 lower-case hexadecimal digits.
  public var digest: String { storage.digest }
  public var scope: Scope { storage.scope }
  public var method: HTTPRequest.Method { storage.method }
  /// The absolute URL, with the values of secret query items digested.
  public var url: String { storage.url }
  /// Returns whether ``url`` is this, without making it.
  package func isOf(url: String) -> Bool { storage.isOf(url: url) }
  /// The method and the URL.
  public var description: String { "\(storage.method.rawValue) \(storage.url)" }

  /// - Parameters:
  ///   - url: the absolute URL; the values of its secret query items are replaced by their digests.
  ///   - body: the request's body, of which the key holds the digest.
  ///   - identityFields: the fields that tell one representation from another; the key holds digests of the values.
  ///   - secretQueryItems: names, compared without regard to case.
  ///   - secretKey: the key under which secrets are digested: ``Persistence/secretKey()`` of the
  ///     store whose record is meant. Default: `nil`, a random key of this process; a store with a
  ///     key of its own has no record under it.
  public init(
    method: HTTPRequest.Method, url: String, body: Data? = nil, identityFields: HTTPFields = [:],
    scope: Scope = .shared, secretQueryItems: Set<String> = [], secretKey: SecretKey? = nil
  ) {
    self.init(
      method: method, url: url, body: body, identityFields: identityFields, scope: scope,
      secretQueryItems: secretQueryItems, digests: secretKey.map(SecretDigests.init) ?? .ofProcess)
  }

  package init(
    method: HTTPRequest.Method, url: String, body: Data? = nil, identityFields: HTTPFields = [:], scope: Scope,
    secretQueryItems: Set<String>, digests: SecretDigests
  ) {
    self.init(
      Parts(
        scope: scope, method: method,
        url: SecretQuery.redact(PercentEncoding.line(url), names: secretQueryItems, digests: digests),
        body: body.map { SHA256Digest.hex($0) },
        fields: Set(identityFields.map(\.name)).map { name in
          var hash = SHA256Digest()
          for value in identityFields[values: name] { hash.update(framed: value) }
          return "\(name.canonicalName)=\(hash.hex())"
        }.sorted()))
  }

  /// The key that has this ``identity``; `nil` where the text is no identity of this version.
  public init?(identity: String) {
    guard let parts = Parts(identity: identity) else { return nil }
    self.init(parts)
  }

  /// The key of a plain `GET` of the same URL in the same scope.
  package static func get(_ key: RecordKey) -> RecordKey {
    RecordKey(Parts(scope: key.scope, method: .get, url: key.url, body: nil, fields: []))
  }

  /// The key under which a variant of this key's response is stored. No field's name begins with a colon.
  func variant(_ digest: String) -> RecordKey {
    RecordKey(storage: Storage("\(identity)\(Self.variantPrefix)\(digest)", like: storage))
  }

  /// This key, or the one that it is a variant's of.
  var base: RecordKey {
    guard let line = identity.utf8.lastIndex(of: UInt8(ascii: "\n")), identity[line...].hasPrefix(Self.variantPrefix)
    else {
      return self
    }
    return RecordKey(storage: Storage(String(identity[..<line]), like: storage))
  }

  private static let variantPrefix = "\n:variant="

  private init(_ parts: Parts) { self.init(storage: Storage(parts)) }

  private init(storage: Storage) { self.storage = storage }

  public static func == (a: RecordKey, b: RecordKey) -> Bool {
    a.storage === b.storage
      || (a.storage.hash == b.storage.hash && a.storage.identity.hasSameBytes(as: b.storage.identity))
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(storage.hash) }
}

extension RecordKey {
  /// One reference for a key; hashed once, and digested once it is asked to: memory does not.
  private final class Storage: Sendable {
    let scope: Scope
    let method: HTTPRequest.Method
    let identity: String
    /// The place of the URL in ``identity``, in bytes.
    private let urlStart: UInt32
    private let urlEnd: UInt32
    let hash: Int
    private let lazyDigest = Mutex<String?>(nil)

    convenience init(_ parts: Parts) {
      let (identity, url) = parts.spelled
      self.init(identity, parts.scope, parts.method, urlStart: UInt32(url.lowerBound), urlEnd: UInt32(url.upperBound))
    }

    /// Another identity that begins as that of `other`, to the end of its URL at least.
    convenience init(_ identity: String, like other: Storage) {
      self.init(identity, other.scope, other.method, urlStart: other.urlStart, urlEnd: other.urlEnd)
    }

    private init(
      _ identity: String, _ scope: Scope, _ method: HTTPRequest.Method, urlStart: UInt32, urlEnd: UInt32
    ) {
      self.scope = scope
      self.method = method
      var identity = identity
      var hasher = Hasher()
      // One that was put together takes up to twice the memory that it needs.
      self.identity = identity.withUTF8 { bytes in
        hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
        return String(decoding: bytes, as: UTF8.self)
      }
      hash = hasher.finalize()
      self.urlStart = urlStart
      self.urlEnd = urlEnd
    }

    /// No second copy of it is kept: it is most of the identity, and seldom asked for.
    var url: String { String(Substring(urlBytes)) }

    func isOf(url: String) -> Bool {
      url.utf8.count == Int(urlEnd - urlStart) && url.utf8.elementsEqual(urlBytes)
    }

    private var urlBytes: Substring.UTF8View {
      let bytes = identity.utf8
      let start = bytes.index(bytes.startIndex, offsetBy: Int(urlStart))
      return bytes[start..<bytes.index(start, offsetBy: Int(urlEnd - urlStart))]
    }

    var digest: String {
      lazyDigest.withLock { digest in
        if let digest { return digest }
        let made = SHA256Digest.hex(Array(identity.utf8))
        digest = made
        return made
      }
    }
  }

  /// The parts that the identity spells: a version, the scope with its length (it may hold any
  /// character), then a line each.
  private struct Parts {
    static let version = "reactor-key/1"

    var scope: Scope
    var method: HTTPRequest.Method
    var url: String
    var body: String?
    var fields: [String]

    var identity: String { spelled.identity }

    /// The identity, and where the URL stands in it, in bytes.
    var spelled: (identity: String, url: Range<Int>) {
      let name = scope.name
      var text = "\(Self.version)\n\(name.utf8.count)\n\(name)\n\(method.rawValue) "
      let start = text.utf8.count
      text += url
      let end = text.utf8.count
      text += "\nbody=\(body ?? "none")"
      for field in fields { text += "\n\(field)" }
      return (text, start..<end)
    }

    init(scope: Scope, method: HTTPRequest.Method, url: String, body: String?, fields: [String]) {
      self.scope = scope
      self.method = method
      self.url = url
      self.body = body
      self.fields = fields
    }

    init?(identity: String) {
      let bytes = Array(identity.utf8)
      let head = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
      guard head.count == 3, String(decoding: head[0], as: UTF8.self) == Self.version,
        let count = Int(String(decoding: head[1], as: UTF8.self)), count >= 0, count < head[2].count
      else { return nil }
      scope = Scope(String(decoding: head[2].prefix(count), as: UTF8.self))
      let lines = String(decoding: head[2].dropFirst(count + 1), as: UTF8.self)
        .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
      guard lines.count >= 2, let space = lines[0].firstIndex(of: " "), lines[1].hasPrefix("body="),
        let method = HTTPRequest.Method(rawValue: String(lines[0][..<space]))
      else { return nil }
      self.method = method
      url = String(lines[0][lines[0].index(after: space)...])
      let digest = lines[1].dropFirst("body=".count)
      body = digest == "none" ? nil : String(digest)
      fields = Array(lines.dropFirst(2))
      // Only the spelling that this version writes is a key: two spellings of one key would be two records.
      guard self.identity == identity else { return nil }
    }
  }
}
