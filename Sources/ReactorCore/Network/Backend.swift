public import Foundation
public import HTTPTypes

/// A server, and the way to it.
///
/// A request passes, from outside in: ``authentication``, ``userAgent``, ``middlewares``, ``logging``, ``transport``. A flow retries around all
/// of them (``ReactorConfiguration/retry``), so that each attempt is signed anew, and told to the log. Caching is above: what these
/// add to a request is in no key and no record.
///
/// Reactor 1.x called it `Network` and `Connection`.
public struct Backend: Sendable {
  /// What every resource's path is relative to: `http` or `https`, a host, and a path where the API has one.
  public var baseURL: URL { didSet { base = Self.base(baseURL) } }
  public var transport: any Transport
  /// Signs the requests: an ``AuthenticationMiddleware``, or one's own. Default: none.
  public var authentication: (any TransportMiddleware)?
  /// Sent as `User-Agent` where a resource has none of its own. Default: `nil`, the transport's.
  public var userAgent: String?
  /// One's own, from outside in. Default: none.
  public var middlewares: [any TransportMiddleware]
  /// Is told of each attempt as it is sent. Default: none.
  public var logging: LoggingMiddleware?
  public var reachability: any Reachability
  /// ``baseURL``, read once; what is wrong with it is told to whoever fetches.
  private(set) var base: Result<BaseURL, ReactorError>

  public init(
    baseURL: URL, transport: any Transport = URLSessionTransport(),
    authentication: (any TransportMiddleware)? = nil, userAgent: String? = nil,
    middlewares: [any TransportMiddleware] = [], logging: LoggingMiddleware? = nil,
    reachability: any Reachability = SystemReachability()
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

  /// Sends a request through the middlewares and the transport, once.
  public func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
  ) async throws -> (HTTPResponse, Data) {
    try await send(request, body: body, trail: nil, progress: progress)
  }

  /// The same; what is answered on the way is left in `trail`.
  func send(
    _ request: HTTPRequest, body: Data?, trail: RedirectTrail?,
    progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    let transport = transport
    // Around the transport alone: a request that a middleware sends by itself leaves nothing.
    var next: TransportMiddleware.Next = { request, body in
      let own = RedirectTrail()
      let observed = RedirectTrail.observed
      // What was answered counts, whatever became of the next hop.
      defer { for trail in [trail, observed] { trail?.leave(own.hops) } }
      return try await RedirectTrail.$current.withValue(own) {
        try await transport.send(request, body: body, progress: progress)
      }
    }
    for middleware in chain.reversed() {
      next = { [next] in try await middleware.intercept($0, body: $1, next: next) }
    }
    // A request that a middleware sends through another backend is none of this one's.
    return try await RedirectTrail.$observed.withValue(nil) { [next] in try await next(request, body) }
  }

  /// Has every middleware forget its user.
  func signOut() {
    for middleware in chain { middleware.signOut() }
  }

  private static func base(_ url: URL) -> Result<BaseURL, ReactorError> {
    Result { () throws(ReactorError) in try BaseURL(url) }
  }

  /// From outside in.
  private var chain: [any TransportMiddleware] {
    let outer: [(any TransportMiddleware)?] = [authentication, userAgent.map { UserAgentMiddleware($0) }]
    return outer.compactMap(\.self) + middlewares + [logging].compactMap(\.self)
  }

  /// The request for `resource`.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)``.
  func request(for resource: Resource) throws(ReactorError) -> HTTPRequest {
    let url = try ResourceURL(resource, base: base.get())
    var fields = resource.headers
    if let name = fields.map(\.name).first(where: Self.transportFields.contains) {
      throw .invalidResource("the field \(name) is set by the transport; leave it out")
    }
    guard !fields.contains(.range), !fields.contains(.ifRange) else {
      throw .invalidResource(
        "a part of a resource is no resource: leave Range out, or send it through the backend by yourself")
    }
    if fields[.accept] == nil { fields[.accept] = "application/json" }
    if let key = resource.idempotencyKey {
      guard let name = HTTPField.Name("Idempotency-Key"), HTTPField.isValidValue(key) else {
        throw .invalidResource("the idempotency key holds a character that a header field cannot")
      }
      fields[name] = key
    }
    return HTTPRequest(
      method: resource.method, scheme: url.scheme, authority: url.authority, path: url.target, headerFields: fields)
  }

  /// Fields that say how the message is framed or where it goes (RFC 9112 §6, RFC 9110 §7).
  private static let transportFields: Set<HTTPField.Name> = Set(
    [.contentLength, .transferEncoding, .connection, .te, .trailer, .upgrade]
      + [HTTPField.Name("Host")].compactMap(\.self))
}
