public import Foundation
public import HTTPTypes
import Synchronization

/// Under what a record is stored: the method, the URL, the body's digest, the identity fields' digests and the scope.
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
  /// The method and the URL.
  public var description: String { "\(storage.method.rawValue) \(storage.url)" }

  /// - Parameters:
  ///   - url: the absolute URL; the values of its secret query items are replaced by their digests.
  ///   - body: the request's body, of which the key holds the digest.
  ///   - identityFields: the fields that tell one representation from another; the key holds digests of the values.
  ///   - secretQueryItems: names, compared without regard to case.
  public init(
    method: HTTPRequest.Method, url: String, body: Data? = nil, identityFields: HTTPFields = [:],
    scope: Scope = .shared, secretQueryItems: Set<String> = []
  ) {
    self.init(
      Parts(
        scope: scope, method: method,
        url: SecretQuery.redact(PercentEncoding.line(url), names: secretQueryItems),
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
  static func get(_ key: RecordKey) -> RecordKey {
    RecordKey(Parts(scope: key.scope, method: .get, url: key.url, body: nil, fields: []))
  }

  /// The key under which a variant of this key's response is stored. No field's name begins with a colon.
  func variant(_ digest: String) -> RecordKey {
    var parts = Parts(scope: scope, method: method, url: url, body: storage.body, fields: storage.fields)
    parts.fields.append(Self.variantPrefix + digest)
    return RecordKey(parts)
  }

  /// This key, or the one that it is a variant's of.
  var base: RecordKey {
    guard storage.fields.last?.hasPrefix(Self.variantPrefix) == true else { return self }
    return RecordKey(
      Parts(scope: scope, method: method, url: url, body: storage.body, fields: storage.fields.dropLast()))
  }

  private static let variantPrefix = ":variant="

  private init(_ parts: Parts) { storage = Storage(parts) }

  public static func == (a: RecordKey, b: RecordKey) -> Bool {
    // By bytes: strings that look alike in Unicode are equal, and are other bytes.
    a.storage === b.storage
      || (a.storage.hash == b.storage.hash && a.storage.identity.utf8.elementsEqual(b.storage.identity.utf8))
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(storage.hash) }
}

extension RecordKey {
  /// One reference for a key; hashed once, and digested once it is asked to: memory does not.
  private final class Storage: Sendable {
    let scope: Scope
    let method: HTTPRequest.Method
    let url: String
    let body: String?
    let fields: [String]
    let identity: String
    let hash: Int
    private let lazyDigest = Mutex<String?>(nil)

    init(_ parts: Parts) {
      scope = parts.scope
      method = parts.method
      url = parts.url
      body = parts.body
      fields = parts.fields
      identity = parts.identity
      var (hasher, bytes) = (Hasher(), identity)
      bytes.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
      hash = hasher.finalize()
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

  /// What the identity spells: a version, the scope with its length (it may hold any character), then a line each.
  private struct Parts {
    static let version = "reactor-key/1"

    var scope: Scope
    var method: HTTPRequest.Method
    var url: String
    var body: String?
    var fields: [String]

    var identity: String {
      var lines = ["\(method.rawValue) \(url)"]
      lines.append("body=\(body ?? "none")")
      lines += fields
      let name = scope.name
      return "\(Self.version)\n\(name.utf8.count)\n\(name)\n\(lines.joined(separator: "\n"))"
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
