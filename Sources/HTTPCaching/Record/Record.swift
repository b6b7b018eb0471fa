public import Foundation
public import HTTPTypes

/// One HTTP exchange as it was received, never a model.
///
/// It holds the identity of its key, so that a collision of digests is seen. `Authorization`, `Cookie` and `Set-Cookie` are not
/// among its fields; secret query items are digested in its URL, `Location`, `Content-Location` and `Link`. Where it came over
/// redirects, `Cache-Control`, `Age` and `Vary` are made of all the responses on the way, and validators and `Expires` are left out.
public struct Record: Sendable, Hashable {
  public var head: Head
  /// The response's body, as received.
  public var body: Data

  public init(head: Head, body: Data) {
    self.head = head
    self.body = body
  }

  /// Everything but the body.
  public struct Head: Sendable, Hashable {
    /// ``RecordKey/identity`` of the key that it was stored under.
    public var identity: String
    /// The response's status.
    public var status: HTTPResponse.Status
    /// The response's fields, without those that are secret or belong to the connection.
    public var fields: HTTPFields
    /// The time at which the request was sent (RFC 9111 §4.2.3, *request_time*).
    public var requestedAt: Date
    /// The time at which the response was received (RFC 9111 §4.2.3, *response_time*).
    public var receivedAt: Date
    /// The time at which it was declared stale; `nil` for never.
    public var invalidatedAt: Date?
    /// The model's name, where the body was encoded from a local model and not received; else `nil`.
    public var localModel: String?
    /// The request's fields that the response varies on, digested; `nil` where it does not vary.
    public var variant: Variant?
    /// The digests of the other variants that are stored beside this one, oldest first; none where ``variant`` is `nil`.
    var otherVariants: [String] = []

    public init(
      identity: String, status: HTTPResponse.Status, fields: HTTPFields, requestedAt: Date, receivedAt: Date,
      invalidatedAt: Date? = nil, localModel: String? = nil, variant: Variant? = nil
    ) {
      self.identity = identity
      self.status = status
      self.fields = fields
      self.requestedAt = requestedAt
      self.receivedAt = receivedAt
      self.invalidatedAt = invalidatedAt
      self.localModel = localModel
      self.variant = variant
    }
  }
}

extension Record.Head {
  /// Returns whether both tell of one exchange, so that a model made from the one is the model of
  /// the other.
  package func isSameExchange(as other: Record.Head) -> Bool {
    receivedAt == other.receivedAt && requestedAt == other.requestedAt && identity == other.identity
      && localModel == other.localModel && variant == other.variant
  }
}

/// The request's fields that a response varies on, digested (RFC 9111 §4.1).
public struct Variant: Sendable, Hashable {
  /// The names that `Vary` lists, lower-cased and sorted; `*` alone where no request can be matched.
  public let names: [String]
  /// SHA-256 of the named fields' values in the request that was answered.
  public let digest: String

  public init(names: [String], digest: String) {
    self.names = names
    self.digest = digest
  }

  /// The variant that a response with these fields belongs to; `nil` where it does not vary.
  public init?(response: HTTPFields, request: HTTPFields) {
    var names: Set<String> = []
    response.forEachElement(of: .vary) { names.insert($0.text.lowercased()) }
    guard !names.isEmpty else { return nil }
    let isMatchable = names.allSatisfy { $0 != "*" && HTTPField.Name($0) != nil }
    self.names = isMatchable ? names.sorted() : ["*"]
    digest = Self.digest(of: self.names, in: request)
  }

  /// A Boolean value that indicates whether any request is answered by it: not where the response
  /// varies on what no request shows (`Vary: *`).
  public var isMatchable: Bool { names != ["*"] }

  /// Returns whether a request with these fields is answered by this variant.
  public func matches(_ request: HTTPFields) -> Bool {
    isMatchable && digest == Self.digest(of: names, in: request)
  }

  /// Returns the ``digest`` for a request with these fields.
  func digest(for request: HTTPFields) -> String { Self.digest(of: names, in: request) }

  /// Lines and the white space around their elements make no difference (RFC 9111 §4.1); nor does the case of languages and codings
  /// (RFC 9110 §12.5.4, §8.4.1).
  private static func digest(of names: [String], in request: HTTPFields) -> String {
    var hash = SHA256Digest()
    for name in names {
      guard let name = HTTPField.Name(name) else { continue }
      let isCaseless = name == .acceptLanguage || name == .acceptEncoding
      var elements: [String] = []
      request.forEachElement(of: name) {
        elements.append(isCaseless ? $0.bytes.latin1.lowercased() : $0.bytes.latin1)
      }
      hash.update(framed: name.canonicalName)
      // So that no value is taken for the name that follows, and one that is empty is told from none.
      hash.update(framed: request.contains(name) ? "\(elements.count)" : "none")
      for element in elements { hash.update(framed: element) }
    }
    return hash.hex()
  }
}

/// A line of the list of what a ``Persistence`` holds.
public struct RecordEntry: Sendable, Hashable {
  public var key: RecordKey
  /// Bytes that the record takes in the store.
  public var size: Int
  /// The time at which the response was received, or the local value was saved.
  public var fetchedAt: Date
  /// The time at which the record was last loaded or saved; `nil` where the store does not keep
  /// that.
  public var lastUsedAt: Date?
  /// ``Record/Head/freshUntil``.
  public var freshUntil: Date?

  public init(key: RecordKey, size: Int, fetchedAt: Date, lastUsedAt: Date? = nil, freshUntil: Date? = nil) {
    self.key = key
    self.size = size
    self.fetchedAt = fetchedAt
    self.lastUsedAt = lastUsedAt
    self.freshUntil = freshUntil
  }
}

/// Why a stored record cannot be read, or a record cannot be stored. Whoever loads treats it as a miss.
@nonexhaustive public enum RecordError: Error, Sendable, Hashable {
  /// The record ends before it says that it does; an empty one too.
  case truncated
  /// The bytes are not what was written; the text says what was seen.
  case corrupt(String)
  /// A newer release wrote it, in this format. It stays as it is until something is saved under its key.
  case newerFormat(UInt64)
  /// The record's identity is not that of the key it was to be saved under. Nothing was saved.
  case wrongKey
}

extension RecordError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .truncated: "the record is cut off"
    case .corrupt(let what): "the record is corrupt: \(what)"
    case .newerFormat(let version):
      "the record has format \(version), which is newer than this release reads (\(RecordCodec.formatVersion))"
    case .wrongKey: "the record belongs to another key; make it with the identity of the key it is saved under"
    }
  }
}

extension Record {
  /// Returns whether it was made for `key`. Compared byte by byte: two names that are equal as text
  /// may differ in their bytes.
  package func belongs(to key: RecordKey) -> Bool {
    var (own, wanted) = (head.identity, key.identity)
    return own.withUTF8 { own in
      wanted.withUTF8 { wanted in
        guard let start = own.baseAddress, let other = wanted.baseAddress else { return own.count == wanted.count }
        return own.count == wanted.count && memcmp(start, other, own.count) == 0
      }
    }
  }
}
