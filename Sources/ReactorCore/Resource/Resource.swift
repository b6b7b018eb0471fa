public import Foundation
public import HTTPTypes
import Synchronization

/// What is asked for: a path under the base URL, with how to ask.
///
/// ```swift
/// let articles: Resource = "articles"
/// let page = Resource("articles", query: ["page": "2", "sort": "date"])
/// ```
///
/// A resource is one reference with a hash made once, so it is cheap to pass and to look up; make it once and keep it.
/// Two are equal when all their properties are. What is stored is found by `RecordKey`, which only the method, the
/// URL, the body and the ``identityHeaders`` decide. Nothing is checked until the resource is fetched.
public struct Resource: Hashable, Sendable, ExpressibleByStringInterpolation {
  private var box: Box

  /// A resource whose path is a string that the program has, taken as it is written.
  ///
  /// A path that is written as a literal is a ``Path``, in which an interpolated value is one segment. In a `String` a
  /// `/`, a `?` and `..` keep their meaning: put no value of a user or a server into it.
  ///
  /// - Parameters:
  ///   - path: relative to the base URL, with or without a slash in front; what is percent-encoded stays so. It may end
  ///     with a query of its own, which comes before `query`.
  ///   - query: in order; names and values are percent-encoded, `+` included.
  ///   - headers: sent with the request. They are no part of the key unless ``identityHeaders`` names them.
  ///   - body: the bytes to send.
  @_disfavoredOverload @inlinable public init(
    _ path: some StringProtocol, method: HTTPRequest.Method = .get, query: KeyValuePairs<String, String> = [:],
    headers: HTTPFields = [:], body: Data? = nil
  ) {
    // Of a `String` alone, the compiler would prefer this to the one for literals.
    self.init(Path(text: String(path)), method: method, query: query, headers: headers, body: body)
  }

  /// A resource whose path is written as a literal: `Resource("posts/\(id)", method: .delete)`.
  ///
  /// - Parameters:
  ///   - path: relative to the base URL, with or without a slash in front; see ``Path``.
  ///   - query: in order; names and values are percent-encoded, `+` included.
  ///   - headers: sent with the request. They are no part of the key unless ``identityHeaders`` names them.
  ///   - body: the bytes to send.
  public init(
    _ path: Path, method: HTTPRequest.Method = .get, query: KeyValuePairs<String, String> = [:],
    headers: HTTPFields = [:], body: Data? = nil
  ) {
    box = Box(
      Fields(
        method: method, path: path.text, reading: path.fault.map(Reading.refused) ?? .relative,
        query: query.map { URLQueryItem(name: $0.key, value: $0.value) }, headers: headers, body: body))
  }

  public init(stringLiteral value: String) { self.init(Path(text: value)) }

  public init(stringInterpolation: Path.StringInterpolation) {
    self.init(Path(stringInterpolation: stringInterpolation))
  }

  public var method: HTTPRequest.Method {
    get { box.fields.method }
    set { change { $0.method = newValue } }
  }
  /// Relative to the base URL, or the target of the link that the resource was made of (``init(link:)``).
  public var path: String {
    get { box.fields.path }
    set {
      change {
        $0.path = newValue
        $0.reading = .relative
      }
    }
  }
  public var query: [URLQueryItem] {
    get { box.fields.query }
    set { change { $0.query = newValue } }
  }
  public var headers: HTTPFields {
    get { box.fields.headers }
    set { change { $0.headers = newValue } }
  }
  public var body: Data? {
    get { box.fields.body }
    set { change { $0.body = newValue } }
  }
  /// The header fields whose values tell one record from another, such as `Accept-Language`. Default: none.
  ///
  /// `Authorization` and `Cookie` cannot be among them (``ReactorError/invalidResource(_:)`` at fetch): whose data it is,
  /// is said by the layer's `Scope`.
  public var identityHeaders: Set<HTTPField.Name> {
    get { box.fields.identityHeaders }
    set { change { $0.identityHeaders = newValue } }
  }
  /// How long a copy counts as fresh, whatever the server and the configuration say. Default: `nil`, they decide.
  public var freshFor: Duration? {
    get { box.fields.freshFor }
    set { change { $0.freshFor = newValue } }
  }
  /// A Boolean value that indicates whether requesting it changes nothing on the server, so that it
  /// may be coalesced, stored and served. Default: `nil`, which means that `GET` and `HEAD` are and
  /// others are not. Set it for a search by `POST`.
  public var isReadOnly: Bool? {
    get { box.fields.isReadOnly }
    set { change { $0.isReadOnly = newValue } }
  }
  /// Sent as `Idempotency-Key`: the server answers a repeated request once. Default: `nil`.
  public var idempotencyKey: String? {
    get { box.fields.idempotencyKey }
    set { change { $0.idempotencyKey = newValue } }
  }

  public static func == (a: Resource, b: Resource) -> Bool {
    a.box === b.box
      || (a.box.hash == b.box.hash && a.box.fields == b.box.fields && a.box.fields.hasSameBytes(as: b.box.fields))
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(box.hash) }

  /// Made once.
  var hashValueOnce: Int { box.hash }

  /// What a memory knows of it, found without a look-up. `body` runs under a lock of this resource alone.
  func withKnownHit<Result>(_ body: (inout InlineSlot?) -> Result) -> Result { box.hit.withLock { body(&$0) } }

  /// The key that `maker` has made of it, or makes now.
  func key(from maker: UInt64, _ make: () throws(ReactorError) -> RecordKey) throws(ReactorError) -> RecordKey {
    if let made = box.key.withLock({ $0 }), made.maker == maker { return made.key }
    let key = try make()
    box.key.withLock { $0 = (maker, key) }
    return key
  }

  /// What ``path`` is.
  enum Reading: Hashable, Sendable {
    /// It is joined to the base URL.
    case relative
    /// A URL of the base URL's origin, or an absolute path there.
    case link
    /// It cannot be requested, for a reason that is said at fetch.
    case refused(String)
  }

  var reading: Reading { box.fields.reading }

  /// The same resource at the target of a link.
  func at(link target: String) -> Resource {
    var resource = self
    resource.change {
      $0.path = target
      $0.reading = .link
      $0.query = []
    }
    return resource
  }

  /// ``isReadOnly`` with its default applied (RFC 9110 §9.2.1 calls such a method *safe*).
  var readsOnly: Bool { isReadOnly ?? (method == .get || method == .head) }

  private mutating func change(_ body: (inout Fields) -> Void) {
    var fields = box.fields
    body(&fields)
    box = Box(fields)
  }
}

extension Resource {
  private struct Fields: Hashable, Sendable {
    var method: HTTPRequest.Method
    var path: String
    var reading: Reading
    var query: [URLQueryItem]
    var headers: HTTPFields
    var body: Data?
    var identityHeaders: Set<HTTPField.Name> = []
    var freshFor: Duration?
    var isReadOnly: Bool?
    var idempotencyKey: String?

    /// Returns whether the bytes are the same too: strings that look alike in Unicode are equal,
    /// and are other requests.
    func hasSameBytes(as other: Fields) -> Bool {
      path.hasSameBytes(as: other.path) && query.hasSameBytes(as: other.query)
        && headers.map(\.name).allSatisfy { name in
          headers[values: name].elementsEqual(other.headers[values: name]) { $0.hasSameBytes(as: $1) }
        }
    }
  }

  /// Immutable; a change makes a new one.
  private final class Box: Sendable {
    let fields: Fields
    let hash: Int
    /// The key that was made of it last, and by whom.
    let key = Mutex<(maker: UInt64, key: RecordKey)?>(nil)
    /// Of the memory that told it last.
    let hit = Mutex<InlineSlot?>(nil)

    init(_ fields: Fields) {
      self.fields = fields
      hash = fields.hashValue
    }
  }
}

extension [URLQueryItem] {
  fileprivate func hasSameBytes(as other: [URLQueryItem]) -> Bool {
    elementsEqual(other) {
      $0.name.hasSameBytes(as: $1.name) && ($0.value ?? "").hasSameBytes(as: $1.value ?? "")
    }
  }
}

extension Resource: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The method and the path, without the query and the header fields, and without what else in a URL is secret.
  public var description: String {
    let path = String(Substring(path.utf8.prefix { $0 != UInt8(ascii: "?") }))
    return "\(method.rawValue) \(SecretQuery.redact(text: path, isURL: true, with: "…"))"
  }
  public var debugDescription: String { "Resource(\(description))" }
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
