public import Foundation
public import HTTPTypes

/// A server, and the chain that sends requests to it.
///
/// ```swift
/// let backend = Backend(
///   baseURL: api, transport: URLSessionTransport(timeout: .seconds(15)), userAgent: "News/1.0")
/// let layer = ModelLayer(backend: backend)
/// ```
///
/// A request passes ``authentication``, ``userAgent``, ``middlewares``, ``logging`` and
/// ``transport``, from the outside in. A flow retries around all of them
/// (``ReactorConfiguration/retry``), so each attempt is signed and logged. Caching happens above:
/// header fields that the chain adds are part of no key and no record.
///
/// Reactor 1.x called it `Network` and `Connection`.
public struct Backend: Sendable {
  /// The URL that every resource's path is relative to: `http` or `https`, a host, and a path if
  /// the API has one.
  public var baseURL: URL { didSet { base = Self.base(baseURL) } }
  /// The transport that sends the requests.
  public var transport: any Transport
  /// The middleware that signs requests: a `BearerToken` or an `AuthenticationMiddleware` of
  /// ReactorMiddleware, or your own. Default: `nil`.
  public var authentication: (any TransportMiddleware)?
  /// The `User-Agent` of requests whose resource sets none. Default: `nil`, which leaves the
  /// transport's.
  public var userAgent: String?
  /// Your middlewares, from the outside in. Default: none.
  public var middlewares: [any TransportMiddleware]
  /// The middleware that reports each attempt: a `LoggingMiddleware` of ReactorMiddleware, or your
  /// own. Default: `nil`.
  public var logging: (any TransportMiddleware)?
  /// The source of connectivity. Default: ``Reachability/system``.
  public var reachability: any Reachability
  /// The form in which the server expects an ``Resource/idempotencyKey``. Default: `bare`.
  public var idempotencyKeyForm: IdempotencyKeyForm = .bare
  /// The parsed ``baseURL``, or the error that every fetch throws.
  private(set) var base: Result<BaseURL, ReactorError>

  /// Creates a backend. An invalid `baseURL` is reported by every fetch, not here.
  public init(
    baseURL: URL, transport: any Transport = URLSessionTransport(),
    authentication: (any TransportMiddleware)? = nil, userAgent: String? = nil,
    middlewares: [any TransportMiddleware] = [], logging: (any TransportMiddleware)? = nil,
    reachability: any Reachability = .system
  ) {
    self.baseURL = baseURL
    base = Self.base(baseURL)
    self.transport = transport
    self.authentication = authentication
    self.userAgent = userAgent
    self.middlewares = middlewares
    self.logging = logging
    self.reachability = reachability
  }

  /// Sends a request once through the middlewares and the transport, without the cache and without
  /// retries. Their errors are thrown as they are.
  public func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
  ) async throws -> (HTTPResponse, Data) {
    try await send(request, body: body, trail: nil, progress: progress)
  }

  /// Sends a request once, and leaves each answered hop in `trail`.
  func send(
    _ request: HTTPRequest, body: Data?, trail: RedirectTrail?,
    progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    let transport = transport
    return try await exchange(request, body: body, trail: trail) { request, body in
      try await transport.send(request, body: body, progress: progress)
    }
  }

  /// Passes a request through the middlewares to `call`, and leaves each answered hop in `trail`.
  ///
  /// - Parameter call: the call of the transport.
  func exchange(
    _ request: HTTPRequest, body: Data?, trail: RedirectTrail?, call: @escaping TransportMiddleware.Next
  ) async throws -> (HTTPResponse, Data) {
    // Only around the transport: requests that a middleware sends by itself leave no hops.
    var next: TransportMiddleware.Next = { request, body in
      let own = RedirectTrail()
      let observed = RedirectTrail.observed
      // A hop that was answered counts, whatever happened to the next.
      defer { for trail in [trail, observed] { trail?.leave(own.hops) } }
      trail?.begin()
      do {
        let answer = try await RedirectTrail.$current.withValue(own) { try await call(request, body) }
        trail?.end(.success(answer.0))
        return answer
      } catch {
        trail?.end(.failure(error))
        throw error
      }
    }
    for middleware in chain.reversed() {
      next = { [next] in try await middleware.intercept($0, body: $1, next: next) }
    }
    // Requests that a middleware sends through another backend leave no hops in this one's trail.
    return try await RedirectTrail.$observed.withValue(nil) { [next] in
      try await RedirectTrail.$sender.withValue(trail) { try await next(request, body) }
    }
  }

  /// Makes every middleware forget its user.
  func signOut() {
    for middleware in chain { middleware.signOut() }
  }

  private static func base(_ url: URL) -> Result<BaseURL, ReactorError> {
    Result { () throws(ReactorError) in try BaseURL(url) }
  }

  /// The middlewares, from the outside in.
  private var chain: [any TransportMiddleware] {
    let outer: [(any TransportMiddleware)?] = [authentication, userAgent.map { UserAgentMiddleware($0) }]
    return outer.compactMap(\.self) + middlewares + [logging].compactMap(\.self)
  }

  /// Returns the absolute URL of the request for `resource`.
  ///
  /// - Throws: the errors of ``request(for:)``.
  func url(of resource: Resource) throws(ReactorError) -> String {
    // Only the path of such a resource can be wrong.
    guard resource.headers.isEmpty, resource.idempotencyKey == nil else {
      return try request(for: resource).absoluteURL
    }
    return try ResourceURL(resource, base: base.get()).absoluteString
  }

  /// Returns the request for `resource`.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)`` for an invalid URL or idempotency key, for a
  ///   field that only the transport may set, and for a range.
  package func request(for resource: Resource) throws(ReactorError) -> HTTPRequest {
    let url = try ResourceURL(resource, base: base.get())
    var fields = resource.headers
    try Self.check(fields)
    guard !fields.contains(.range), !fields.contains(.ifRange) else {
      throw .invalidResource(
        "Range and If-Range ask for a part, which is never cached; remove them, or send the request with Backend.send")
    }
    if fields[.accept] == nil { fields[.accept] = "application/json" }
    if let key = resource.idempotencyKey {
      guard let name = HTTPField.Name("Idempotency-Key"), let value = idempotencyKeyForm.value(of: key) else {
        throw .invalidResource("the idempotency key has a character that a header field cannot contain; use a UUID")
      }
      fields[name] = value
    }
    return HTTPRequest(
      method: resource.method, scheme: url.scheme, authority: url.authority, path: url.target, headerFields: fields)
  }

  /// The form of the field `Idempotency-Key`.
  public enum IdempotencyKeyForm: Sendable, Hashable {
    /// The key as it is, as Stripe and most servers expect it.
    case bare
    /// A string of structured fields, in quotes (draft-ietf-httpapi-idempotency-key-header-07).
    case structured

    /// Returns the field's value; `nil` for a key that the field cannot contain.
    package func value(of key: String) -> String? {
      switch self {
      case .bare: return HTTPField.isValidValue(key) ? key : nil
      case .structured:
        guard key.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else { return nil }
        let escaped = key.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\"", with: "\\\"")
        return "\"\(escaped)\""
      }
    }
  }

  /// - Throws: ``ReactorError/invalidResource(_:)`` for a field that only the transport may set.
  package static func check(_ fields: HTTPFields) throws(ReactorError) {
    if let name = fields.map(\.name).first(where: transportFields.contains) {
      throw .invalidResource("the field \(name) is set by the transport; remove it from the resource's headers")
    }
  }

  /// Header fields that frame or route the message (RFC 9112 §6, RFC 9110 §7).
  private static let transportFields: Set<HTTPField.Name> = Set(
    [.contentLength, .transferEncoding, .connection, .te, .trailer, .upgrade]
      + [HTTPField.Name("Host")].compactMap(\.self))
}
