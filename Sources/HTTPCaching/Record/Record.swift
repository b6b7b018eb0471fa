public import Foundation
public import HTTPTypes

/// One HTTP exchange as it was received, without a decoded model.
///
/// A record holds the identity of its key, which reveals a collision of digests. It never holds
/// `Authorization` or `Cookie`. It holds `Set-Cookie` only if a proxy keeps cookies.
/// Secret query items are digested in its URL and in `Location`, `Content-Location`, `Link` and
/// `Refresh`.
///
/// After redirects, `Cache-Control`, `Age` and `Vary` combine all the responses on the way.
/// Validators and `Expires` are left out.
public struct Record: Sendable, Hashable {
  /// The status, the fields and the times of the exchange.
  public var head: Head
  /// The response's body, as received.
  public var body: Data

  /// Creates a record from its parts. Saving it requires the key's identity in `head`.
  public init(head: Head, body: Data) {
    self.head = head
    self.body = body
  }

  /// Everything but the body of a record.
  public struct Head: Sendable, Hashable {
    /// The ``RecordKey/identity`` of the key under which the record is stored.
    public var identity: String
    /// The response's status.
    public var status: HTTPResponse.Status
    /// The response's fields, without secrets and without fields of the connection (RFC 9111 §3.1).
    public var fields: HTTPFields
    /// The time at which the request was sent (RFC 9111 §4.2.3, *request_time*).
    public var requestedAt: Date
    /// The time at which the response was received (RFC 9111 §4.2.3, *response_time*).
    public var receivedAt: Date
    /// The time at which the record was declared stale; `nil` if it never was.
    public var invalidatedAt: Date?
    /// The name of the model, where the body was encoded from a local model; `nil` for a response.
    public var localModel: String?
    /// A digest of the request's fields that the response varies on; `nil` where it does not vary.
    public var variant: Record.Variant?
    /// The digests of the other variants stored beside this one, oldest first. Empty where
    /// ``variant`` is `nil`.
    var otherVariants: [String] = []

    /// Creates a head from its parts. ``HTTPCache`` sets `identity` again when it stores the
    /// record.
    public init(
      identity: String, status: HTTPResponse.Status, fields: HTTPFields, requestedAt: Date, receivedAt: Date,
      invalidatedAt: Date? = nil, localModel: String? = nil, variant: Record.Variant? = nil
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
  /// Returns whether both heads describe one exchange. A model decoded from one record is then also
  /// the model of the other.
  ///
  /// Two processes that share a store may get two versions at the same times, so the entity tag
  /// counts, too.
  package func isSameExchange(as other: Record.Head) -> Bool {
    receivedAt == other.receivedAt && requestedAt == other.requestedAt && identity == other.identity
      && localModel == other.localModel && variant == other.variant
      && fields.value(of: .eTag) == other.fields.value(of: .eTag)
  }
}

extension Record {
  /// The request's fields that a response varies on, as a digest (RFC 9111 §4.1).
  public struct Variant: Sendable, Hashable {
    /// The names in `Vary`, lower-cased and sorted; only `*` if no request can match.
    public let names: [String]
    /// The SHA-256 of the named fields' values in the original request, in lower-case hexadecimal.
    public let digest: String

    /// Creates a variant from stored parts, such as those of a decoded record.
    public init(names: [String], digest: String) {
      self.names = names
      self.digest = digest
    }

    /// Creates the variant of a response to a request with these fields.
    ///
    /// - Returns: `nil` where the response does not vary.
    public init?(response: HTTPFields, request: HTTPFields) {
      var names: Set<String> = []
      response.forEachElement(of: .vary) { names.insert($0.text.lowercased()) }
      guard !names.isEmpty else { return nil }
      let isMatchable = names.allSatisfy { $0 != "*" && HTTPField.Name($0) != nil }
      self.names = isMatchable ? names.sorted() : ["*"]
      digest = Self.digest(of: self.names, in: request)
    }

    /// A Boolean value that indicates whether a request can match this variant. It is `false` for
    /// `Vary: *` and for names that are not field names.
    public var isMatchable: Bool { names != ["*"] }

    /// Returns whether a request with these fields matches this variant (RFC 9111 §4.1).
    public func matches(_ request: HTTPFields) -> Bool {
      isMatchable && digest == Self.digest(of: names, in: request)
    }

    /// Returns the ``digest`` of a request with these fields.
    package func digest(for request: HTTPFields) -> String { Self.digest(of: names, in: request) }

    /// Returns the digest of the named fields. Neither the number of lines nor white space beside a
    /// comma changes it (RFC 9111 §4.1).
    ///
    /// Only of fields that are known to be lists, empty elements are left out (RFC 9110 §5.6.1.2).
    /// The case of languages and codings makes no difference (RFC 9110 §12.5.4, §8.4.1).
    private static func digest(of names: [String], in request: HTTPFields) -> String {
      var hash = SHA256Digest()
      for name in names {
        guard let name = HTTPField.Name(name) else { continue }
        let isCaseless = name == .acceptLanguage || name == .acceptEncoding
        let isList = isCaseless || name == .accept || name == acceptCharset
        var elements: [String] = []
        request.forEachElement(of: name, keepsEmpty: !isList) {
          elements.append(isCaseless ? $0.bytes.latin1.lowercased() : $0.bytes.latin1)
        }
        hash.update(framed: name.canonicalName)
        // The count separates values from the next name, and an empty field from a missing one.
        hash.update(framed: request.contains(name) ? "\(elements.count)" : "none")
        for element in elements { hash.update(framed: element) }
      }
      return hash.hex()
    }

    private static let acceptCharset = HTTPField.Name("Accept-Charset") ?? .accept
  }
}

extension Record {
  /// A stored record without its content, as ``Persistence/entries(in:url:)`` lists it.
  public struct Entry: Sendable, Hashable {
    /// The key of the record.
    public var key: RecordKey
    /// The size of the record in the store, in bytes.
    public var size: Int
    /// The time at which the response was received or the local value was saved.
    public var fetchedAt: Date
    /// The time at which the record was last loaded or saved; `nil` where the store does not note
    /// that. A store may note it with a delay.
    public var lastUsedAt: Date?
    /// The end of the record's freshness, as in ``Record/Head/freshUntil``.
    public var freshUntil: Date?
    /// The groups of the record, as in ``Record/Head/groups``; `nil` where the store does not list
    /// them. An ``HTTPCache`` then loads the record to find out.
    public var groups: Set<String>?

    /// Creates an entry from its parts.
    public init(
      key: RecordKey, size: Int, fetchedAt: Date, lastUsedAt: Date? = nil, freshUntil: Date? = nil,
      groups: Set<String>? = nil
    ) {
      self.key = key
      self.size = size
      self.fetchedAt = fetchedAt
      self.lastUsedAt = lastUsedAt
      self.freshUntil = freshUntil
      self.groups = groups
    }
  }
}

extension Record {
  /// An error of a record that cannot be read or stored. On a load, the cache and the flows treat
  /// it as a miss.
  @nonexhaustive public enum Failure: Error, Sendable, Hashable {
    /// The bytes stop before the record is complete, or are empty.
    case truncated
    /// The bytes were damaged or are not a record's. The text describes the damage.
    case corrupt(String)
    /// A newer release wrote the record, in this format. It stays in the store until something is
    /// saved under its key.
    case newerFormat(UInt64)
    /// The record's identity is not the identity of the key. Nothing was saved.
    case wrongKey
  }
}

extension Record.Failure: CustomStringConvertible {
  /// A sentence that describes the error and, for ``wrongKey``, the remedy.
  public var description: String {
    switch self {
    case .truncated: "the record is truncated; fetch the resource again"
    case .corrupt(let what): "the record is corrupt, \(what); fetch the resource again"
    case .newerFormat(let version):
      "the record has format \(version), which is newer than this release reads (\(RecordCodec.formatVersion))"
    case .wrongKey: "the record belongs to another key; make it with the identity of the key it is saved under"
    }
  }
}

extension Record {
  /// Returns whether the record was made for `key`. Identities are compared byte by byte, because
  /// equal strings may have different bytes.
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
