public import Foundation
public import HTTPTypes
import Synchronization

/// A request for a model: a path under the base URL, with its method, query, header fields and
/// body.
///
/// ```swift
/// let articles: Resource = "articles"
/// let page = Resource("articles", query: ["page": "2", "sort": "date"])
/// ```
///
/// A resource is one reference with a precomputed hash, so it is cheap to pass and to look up. Make
/// it once and reuse it. Nothing is validated until it is fetched.
///
/// Two resources are equal if all their properties are. Records are found by `RecordKey`, which
/// depends only on the method, the URL, the body and the ``identityHeaders``.
public struct Resource: Hashable, Sendable, ExpressibleByStringInterpolation {
  private var box: Box

  /// Creates a resource with a path from a `String`, used as written.
  ///
  /// ```swift
  /// let page = Resource("stories", query: ["page": "2"], headers: [.acceptLanguage: "de"])
  /// let delete = Resource("stories/\(id)", method: .delete)
  /// ```
  ///
  /// In a `String`, a `/`, a `?` and `..` keep their meaning, so do not put a value from a user or
  /// a server into it. A literal path is a ``Path`` instead, in which an interpolated value is one
  /// segment.
  ///
  /// - Parameters:
  ///   - path: The path relative to the base URL, with or without a leading slash. Percent-encoding
  ///     is preserved. It may end with a query, which precedes `query`.
  ///   - query: The query items, in order. Names and values are percent-encoded, `+` included.
  ///   - headers: The header fields of the request. They are part of the record's key only if
  ///     ``identityHeaders`` names them.
  ///   - body: The bytes to send.
  @_disfavoredOverload @inlinable public init(
    _ path: some StringProtocol, method: HTTPRequest.Method = .get, query: KeyValuePairs<String, String> = [:],
    headers: HTTPFields = [:], body: Data? = nil
  ) {
    // Disfavored, since the compiler would otherwise prefer this initializer for a literal.
    self.init(Path(text: String(path)), method: method, query: query, headers: headers, body: body)
  }

  /// Creates a resource with a literal path: `Resource("posts/\(id)", method: .delete)`.
  ///
  /// - Parameters:
  ///   - path: The path relative to the base URL, with or without a leading slash; see ``Path``.
  ///   - query: The query items, in order. Names and values are percent-encoded, `+` included.
  ///   - headers: The header fields of the request. They are part of the record's key only if
  ///     ``identityHeaders`` names them.
  ///   - body: The bytes to send.
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

  /// Creates a `GET` of a literal path with interpolated values; see ``Path``.
  public init(stringInterpolation: Path.StringInterpolation) {
    self.init(Path(stringInterpolation: stringInterpolation))
  }

  /// The method. Default: `GET`.
  public var method: HTTPRequest.Method {
    get { box.fields.method }
    set { change { $0.method = newValue } }
  }
  /// The path relative to the base URL, or the target of the link that the resource was made from
  /// (``init(link:)``).
  ///
  /// A new value is always relative to the base URL.
  public var path: String {
    get { box.fields.path }
    set {
      change {
        $0.path = newValue
        $0.reading = .relative
      }
    }
  }
  /// The query items, in order, without the items that ``path`` already has.
  public var query: [URLQueryItem] {
    get { box.fields.query }
    set { change { $0.query = newValue } }
  }
  /// The header fields to send. They are part of the record's key only if ``identityHeaders`` names
  /// them.
  public var headers: HTTPFields {
    get { box.fields.headers }
    set { change { $0.headers = newValue } }
  }
  /// The bytes to send; `nil` for none. They are part of the record's key, as a digest.
  ///
  /// A new value replaces ``form``.
  public var body: Data? {
    get { box.fields.body }
    set { change { ($0.body, $0.form) = (newValue, nil) } }
  }
  /// The form to send, which is encoded for each request; `nil` for none. It is not part of the
  /// record's key, so a resource with a form cannot be read-only.
  ///
  /// A new value replaces ``body``.
  public var form: MultipartForm? {
    get { box.fields.form }
    set { change { ($0.body, $0.form) = (nil, newValue) } }
  }
  /// The header fields that are part of the record's key, such as `Accept-Language`. Default: none.
  ///
  /// ```swift
  /// var stories = Resource("stories", headers: [.acceptLanguage: "de"])
  /// stories.identityHeaders = [.acceptLanguage]  // one cached value for each language
  /// ```
  ///
  /// `Authorization` and `Cookie` are not allowed: a fetch then fails with
  /// ``ReactorError/invalidResource(_:)``. The layer's `Scope` identifies the owner of the data
  /// instead.
  public var identityHeaders: Set<HTTPField.Name> {
    get { box.fields.identityHeaders }
    set { change { $0.identityHeaders = newValue } }
  }
  /// The time for which a stored value is fresh, whatever the server and the configuration say.
  /// Default: `nil`, which leaves it to them.
  ///
  /// ```swift
  /// var scores = Resource("scores")
  /// scores.freshFor = .seconds(10)
  /// ```
  public var freshFor: Duration? {
    get { box.fields.freshFor }
    set { change { $0.freshFor = newValue } }
  }
  /// A Boolean value that indicates whether the request changes nothing on the server, so that it
  /// may be coalesced and its response stored. Default: `nil`, which means `true` for `GET`, `HEAD`
  /// and `QUERY` (RFC 10008), and `false` for other methods.
  ///
  /// ```swift
  /// var search = Resource("search", method: .post, body: query)
  /// search.isReadOnly = true  // cached by its body, and retried
  /// ```
  ///
  /// Set it to `true` for a search by `POST`.
  public var isReadOnly: Bool? {
    get { box.fields.isReadOnly }
    set { change { $0.isReadOnly = newValue } }
  }
  /// The method to send the same bytes with where the server does not know `QUERY`: it answers 501,
  /// or 405 without `QUERY` in `Allow`. Default: `nil`, which reports that answer.
  ///
  /// ```swift
  /// var search = try Resource("contacts", method: .query, json: filter)
  /// search.fallbackMethod = .post  // POST contacts only reads, at this server
  /// ```
  ///
  /// Only `POST` counts, and only the program knows whether a `POST` of the same bytes changes
  /// something. The response is stored under the key of the `QUERY`. The reactor asks with `QUERY`
  /// again after a day. Resources with another method ignore it.
  public var fallbackMethod: HTTPRequest.Method? {
    get { box.fields.fallbackMethod }
    set { change { $0.fallbackMethod = newValue } }
  }
  /// The groups that the resource belongs to, to invalidate them together with
  /// ``ModelLayer/invalidate(_:)``. Default: none.
  ///
  /// ```swift
  /// var page = Resource("stories", query: ["page": "2"])
  /// page.groups = ["stories"]
  /// await layer.invalidate(.group("stories"))
  /// ```
  ///
  /// They are stored with the record, beside the groups that the server names in `Cache-Groups`
  /// (RFC 9875). A name has printable ASCII characters; others count only in memory.
  public var groups: Set<String> {
    get { box.fields.groups }
    set { change { $0.groups = newValue } }
  }
  /// The `Idempotency-Key` to send, by which a server recognizes a repeated request and carries it
  /// out once. Default: `nil`.
  ///
  /// ```swift
  /// var order = try Resource("orders", method: .post, json: cart)
  /// order.idempotencyKey = UUID().uuidString
  /// ```
  ///
  /// A request with a key may be retried, whatever its method.
  public var idempotencyKey: String? {
    get { box.fields.idempotencyKey }
    set { change { $0.idempotencyKey = newValue } }
  }

  /// The longest time for one attempt of the request, from its start to the end of its response, on
  /// ``ReactorConfiguration/clock``. Default: `nil`, which leaves it to the transport.
  ///
  /// ```swift
  /// var report = Resource("reports/2026")
  /// report.timeout = .seconds(120)
  /// ```
  ///
  /// An attempt that takes longer is cancelled. It fails with ``ReactorError/timedOut``, which the
  /// ``RetryPolicy`` may retry. A fetch that joins a request in flight gets the timeout of the
  /// fetch that started it. Zero or less counts as no timeout, and more than a day as a day. The
  /// time includes the middlewares, and so the refresh of a credential.
  public var timeout: Duration? {
    get { box.fields.timeout }
    set { change { $0.timeout = newValue } }
  }
  /// The priority of the tasks that load, request and parse. Default: `nil`, the priority of the
  /// task that fetches.
  ///
  /// ```swift
  /// var thumbnail = Resource("images/7")
  /// thumbnail.priority = .background
  /// ```
  ///
  /// A request in flight takes the highest priority of its waiters. The transport does not get it.
  public var priority: TaskPriority? {
    get { box.fields.priority.map(TaskPriority.init(rawValue:)) }
    set { change { $0.priority = newValue?.rawValue } }
  }

  public static func == (a: Resource, b: Resource) -> Bool {
    a.box === b.box
      || (a.box.hash == b.box.hash && a.box.fields == b.box.fields && a.box.fields.hasSameBytes(as: b.box.fields))
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(box.hash) }

  /// The precomputed hash.
  var hashValueOnce: Int { box.hash }

  /// Calls `body` with the cached slot of a reactor's memory, under a lock that only this resource
  /// uses.
  func withKnownHit<Result>(_ body: (inout InlineSlot?) -> Result) -> Result { box.hit.withLock { body(&$0) } }

  /// Returns the record key that `maker` made of it, or makes it now. Only the latest maker's key
  /// is cached.
  func key(from maker: UInt64, _ make: () throws(ReactorError) -> RecordKey) throws(ReactorError) -> RecordKey {
    if let made = box.key.withLock({ $0 }), made.maker == maker { return made.key }
    let key = try make()
    box.key.withLock { $0 = (maker, key) }
    return key
  }

  /// The interpretation of ``path``.
  enum Reading: Hashable, Sendable {
    /// The path is joined to the base URL.
    case relative
    /// The path is a URL of the base URL's origin, or an absolute path there.
    case link
    /// The path cannot be requested. A fetch fails with this reason.
    case refused(String)
  }

  var reading: Reading { box.fields.reading }

  /// Returns the same resource at the target of a link, without its query.
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
  package var readsOnly: Bool { isReadOnly ?? (method == .get || method == .head || method == .query) }

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
    var form: MultipartForm?
    var identityHeaders: Set<HTTPField.Name> = []
    var freshFor: Duration?
    var isReadOnly: Bool?
    var fallbackMethod: HTTPRequest.Method?
    var idempotencyKey: String?
    var groups: Set<String> = []
    var timeout: Duration?
    /// The raw value of the priority.
    var priority: UInt8?

    /// Returns whether the bytes are equal too: strings that are canonically equivalent in Unicode
    /// compare equal, but make different requests.
    func hasSameBytes(as other: Fields) -> Bool {
      path.hasSameBytes(as: other.path) && query.hasSameBytes(as: other.query)
        && headers.map(\.name).allSatisfy { name in
          headers[values: name].elementsEqual(other.headers[values: name]) { $0.hasSameBytes(as: $1) }
        }
    }
  }

  /// The immutable storage; a change makes a new one.
  private final class Box: Sendable {
    let fields: Fields
    let hash: Int
    /// The record key that was made last, with its maker.
    let key = Mutex<(maker: UInt64, key: RecordKey)?>(nil)
    /// The slot of one reactor's memory.
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
  /// The method and the path. The query, the header fields and any user and password are left out.
  public var description: String {
    let path = String(Substring(path.utf8.prefix { $0 != UInt8(ascii: "?") }))
    return "\(method.rawValue) \(SecretQuery.redact(text: path, isURL: true, with: "…"))"
  }
  /// The description, which holds no secret.
  public var debugDescription: String { "Resource(\(description))" }
  /// Only the description, so that `dump` shows no secret.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
