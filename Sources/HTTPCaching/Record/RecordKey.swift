public import Foundation
public import HTTPTypes
import Synchronization

/// The key under which a record is stored.
///
/// ```swift
/// let key = RecordKey(method: .get, url: "https://api.example.com/posts", scope: "ada")
/// ```
///
/// A key consists of the method, the URL, a digest of the body, digests of the identity fields, and
/// the scope. It holds no model type, so two types over one URL share a record. The encoding is
/// stable and has a version. A later release finds the records of an earlier one, or misses them.
public struct RecordKey: Hashable, Sendable, CustomStringConvertible {
  private let storage: Storage

  /// The key as text, with a version. Two keys are equal exactly if their identities have the same
  /// bytes.
  public var identity: String { storage.identity }
  /// The SHA-256 of ``identity``, in 64 lower-case hexadecimal digits. Computed on first use.
  public var digest: String { storage.digest }
  /// The owner of the record.
  public var scope: Scope { storage.scope }
  /// The method of the request.
  public var method: HTTPRequest.Method { storage.method }
  /// The absolute URL, with the values of secret query items digested. Equivalent URLs have one
  /// spelling here, whatever is sent to the server (RFC 9110 §4.2.3).
  public var url: String { storage.url }
  /// Returns whether ``url`` has the same bytes as `url`, without creating the string.
  package func isOf(url: String) -> Bool { storage.isOf(url: url) }
  /// The method and the URL.
  public var description: String { "\(storage.method.rawValue) \(storage.url)" }

  /// Creates the key of a request.
  ///
  /// - Parameters:
  ///   - method: The method of the request.
  ///   - url: The absolute URL. The values of its secret query items are replaced by digests.
  ///   - body: The body of the request. The key holds its digest.
  ///   - identityFields: The fields of the request that select a representation. The key holds
  ///     digests of their values.
  ///   - scope: The owner of the record. Default: ``Scope/shared``.
  ///   - secretQueryItems: The names of secret query items, in any case.
  ///   - secretKey: The key for the digests of secrets, from ``Persistence/secretKey()`` of the
  ///     store. Default: `nil`, a random key of this process. A store with a key of its own has no
  ///     record under it.
  public init(
    method: HTTPRequest.Method, url: String, body: Data? = nil, identityFields: HTTPFields = [:],
    scope: Scope = .shared, secretQueryItems: Set<String> = [], secretKey: RecordKey.SecretKey? = nil
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
        url: SecretQuery.redact(NormalURL.spelling(of: url), names: secretQueryItems, digests: digests),
        body: body.map { SHA256Digest.hex($0) },
        fields: identityFields.isEmpty ? [] : Self.lines(of: identityFields)))
  }

  private static func lines(of fields: HTTPFields) -> [String] {
    Set(fields.map(\.name)).map { name in
      var hash = SHA256Digest()
      for value in fields[values: name] { hash.update(framed: value) }
      return "\(name.canonicalName)=\(hash.hex())"
    }.sorted()
  }

  /// Creates the key with this ``identity``, or returns `nil` if the text is not an identity of
  /// this version.
  public init?(identity: String) {
    guard let parts = Parts(identity: identity) else { return nil }
    self.init(parts)
  }

  /// Returns the key of a plain `GET` of the same URL in the same scope.
  package static func get(_ key: RecordKey) -> RecordKey {
    RecordKey(Parts(scope: key.scope, method: .get, url: key.url, body: nil, fields: []))
  }

  /// Returns the key of a variant of this key's response. The suffix cannot be a field, whose name
  /// never begins with a colon.
  func variant(_ digest: String) -> RecordKey {
    RecordKey(storage: Storage("\(identity)\(Self.variantPrefix)\(digest)", like: storage))
  }

  /// The key without the suffix of a variant; the key itself where it has none.
  var base: RecordKey {
    guard let line = identity.utf8.lastIndex(of: UInt8(ascii: "\n")), identity[line...].hasPrefix(Self.variantPrefix)
    else {
      return self
    }
    return RecordKey(storage: Storage(String(identity[..<line]), like: storage))
  }

  private static let variantPrefix = "\n:variant="

  /// The key of the rule of the path: the latest `No-Vary-Search` of a response to any query of it.
  var rule: RecordKey { note(of: url.splitAtQuery.path) }

  /// The key of the latest news of all URLs that are equivalent to this one by a value of
  /// `No-Vary-Search`. Equivalent requests have one in common, and other requests have another.
  ///
  /// - Returns: `nil` if the query has too many items, or the URL has a fragment.
  func alias(by value: NoVarySearch) -> RecordKey? {
    let (path, query) = url.splitAtQuery
    guard !url.utf8.contains(UInt8(ascii: "#")), let query = value.simplified(query) else { return nil }
    return note(of: "\(path)?\(query)")
  }

  /// The key of what a client keeps about a stream at the URL, such as its place. No key of a rule
  /// or an alias has a fragment.
  package var place: RecordKey { note(of: "\(url)#place") }

  /// A Boolean value that indicates whether the record of the key is a note of the cache or of a
  /// client, and no response.
  package var isNote: Bool { storage.isNote }

  private func note(of url: String) -> RecordKey {
    RecordKey(storage: Storage(storage, url: url, suffix: Self.noteLine))
  }

  /// No field, whose name never begins with a colon.
  private static let noteLine = "\n:search"

  /// A hash of the key without its query.
  var pathHash: Int { storage.pathHash }

  /// Returns whether the URLs differ in their queries alone, and the scopes not at all.
  func hasPath(of other: RecordKey) -> Bool { storage.hasPath(of: other.storage) }

  private init(_ parts: Parts) { self.init(storage: Storage(parts)) }

  private init(storage: Storage) { self.storage = storage }

  /// Compares the bytes of both identities.
  public static func == (a: RecordKey, b: RecordKey) -> Bool {
    a.storage === b.storage
      || (a.storage.hash == b.storage.hash && a.storage.identity.hasSameBytes(as: b.storage.identity))
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(storage.hash) }
}

extension String {
  /// The URL up to its query, and the bytes of the query.
  fileprivate var splitAtQuery: (path: String, query: Substring.UTF8View) {
    let path = utf8.prefix { $0 != UInt8(ascii: "?") }
    return (String(Substring(path)), utf8[path.endIndex...].dropFirst())
  }
}

extension HTTPFields {
  /// The fields that say what the content of a request means (RFC 9110 §8). They belong to the key
  /// of a QUERY (RFC 10008 §2.7).
  package var ofContent: HTTPFields {
    filter { [.contentType, .contentEncoding, .contentLanguage, .contentLocation].contains($0.name) }
  }
}

extension RecordKey {
  /// The shared storage of a key. The hash is computed once; the digest only on first use, because
  /// memory never needs it.
  private final class Storage: Sendable {
    let scope: Scope
    let method: HTTPRequest.Method
    let identity: String
    /// The range of the URL in ``identity``, in bytes.
    private let urlStart: UInt32
    private let urlEnd: UInt32
    let hash: Int
    private let lazyDigest = Mutex<String?>(nil)

    convenience init(_ parts: Parts) {
      let (identity, url) = parts.spelled
      self.init(identity, parts.scope, parts.method, urlStart: UInt32(url.lowerBound), urlEnd: UInt32(url.upperBound))
    }

    /// Creates storage for another identity that shares a prefix with the identity of `other`, at
    /// least up to the end of its URL.
    convenience init(_ identity: String, like other: Storage) {
      self.init(identity, other.scope, other.method, urlStart: other.urlStart, urlEnd: other.urlEnd)
    }

    /// Creates storage for the identity of `other` with another URL and a suffix. The identity is
    /// not parsed: each miss of a new path makes the key of its rule.
    convenience init(_ other: Storage, url: String, suffix: String) {
      let bytes = other.identity.utf8
      let start = bytes.index(bytes.startIndex, offsetBy: Int(other.urlStart))
      let rest = bytes[bytes.index(start, offsetBy: Int(other.urlEnd - other.urlStart))...]
      self.init(
        String(joining: [String(Substring(bytes[..<start])), url, String(Substring(rest)), suffix]), other.scope,
        other.method, urlStart: other.urlStart, urlEnd: other.urlStart + UInt32(url.utf8.count))
    }

    private init(
      _ identity: String, _ scope: Scope, _ method: HTTPRequest.Method, urlStart: UInt32, urlEnd: UInt32
    ) {
      self.scope = scope
      self.method = method
      var identity = identity
      var hasher = Hasher()
      // An interpolated string takes up to twice the memory that it needs. This copy is exact.
      self.identity = identity.withUTF8 { bytes in
        hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
        return String(decoding: bytes, as: UTF8.self)
      }
      hash = hasher.finalize()
      self.urlStart = urlStart
      self.urlEnd = urlEnd
    }

    /// The URL, made from ``identity`` on each call. A second copy would nearly double the key's
    /// size, and few callers need it.
    var url: String { String(Substring(urlBytes)) }

    func isOf(url: String) -> Bool {
      url.utf8.count == Int(urlEnd - urlStart) && url.utf8.elementsEqual(urlBytes)
    }

    var isNote: Bool { identity.utf8.suffix(8).elementsEqual("\n:search".utf8) }

    var pathHash: Int {
      var hasher = Hasher()
      // In place: a miss of a path without a rule must cost nothing to speak of.
      let wasHashed: Void? = identity.utf8.withContiguousStorageIfAvailable { bytes in
        let path = bytes[..<Int(urlEnd)].dropFirst(Int(urlStart)).prefix { $0 != UInt8(ascii: "?") }
        hasher.combine(bytes: UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[..<path.endIndex])))
        hasher.combine(bytes: UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[Int(urlEnd)...])))
      }
      return wasHashed == nil ? hash : hasher.finalize()
    }

    func hasPath(of other: Storage) -> Bool { scope == other.scope && path.elementsEqual(other.path) }

    private var path: Substring.UTF8View { urlBytes.prefix { $0 != UInt8(ascii: "?") } }

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

  /// The parts of an identity: a version, the scope with its length, then one line for each other
  /// part. The scope needs a length because its name may contain line breaks.
  private struct Parts {
    static let version = "reactor-key/1"

    var scope: Scope
    var method: HTTPRequest.Method
    var url: String
    var body: String?
    var fields: [String]

    var identity: String { spelled.identity }

    /// The identity, and the range of the URL in it, in bytes.
    var spelled: (identity: String, url: Range<Int>) {
      let name = scope.name
      let head = [Self.version, "\n", String(name.utf8.count), "\n", name, "\n", method.rawValue, " "]
      let text = String(joining: head + [url, "\nbody=", body ?? "none"] + fields.flatMap { ["\n", $0] })
      let start = head.reduce(0) { $0 + $1.utf8.count }
      return (text, start..<(start + url.utf8.count))
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
      // Only the spelling that this version writes is valid. A second spelling would be a second
      // record.
      guard self.identity == identity else { return nil }
    }
  }
}
