public import Foundation
import HTTPTypes
public import ReactorCore
public import ServerSentEvents

/// A hub of the Mercure protocol, and what a layer follows on it (draft-dunglas-mercure).
///
/// ```swift
/// let layer = ModelLayer(
///   baseURL: api, extensions: [.mercure(MercureHub(hub, topics: ["https://example.com/books/{id}"]))])
/// ```
public struct MercureHub: Sendable {
  /// The topics of a subscription.
  public struct Topic: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The name of the query parameter, and its value.
    let name: String, value: String

    /// Creates a topic selector of the drafts up to 07: a topic, a URI template (RFC 6570), or `*`
    /// for all.
    public init(_ selector: String) { (name, value) = ("topic", selector) }

    /// Creates a topic selector of the drafts up to 07, as a literal.
    public init(stringLiteral selector: String) { self.init(selector) }

    private init(name: String, value: String) { (self.name, self.value) = (name, value) }

    /// One topic, as draft 08 names it.
    public static func match(_ topic: String) -> Topic { Topic(name: "match", value: topic) }

    /// The topics of a URL pattern, as draft 08 names it.
    public static func matchURLPattern(_ pattern: String) -> Topic { Topic(name: "matchURLPattern", value: pattern) }
  }

  /// The place of the token in a request.
  public enum TokenPlace: Sendable, Hashable {
    /// The field `Authorization`. Every hub reads it.
    case header
    /// A query parameter: `authorization` up to draft 07, `access_token` since. Servers log URLs.
    case query(name: String = "authorization")
    /// A cookie: `mercureAuthorization` up to draft 07, `mercureAccessToken` since.
    case cookie(name: String = "mercureAuthorization")
  }

  /// The subscription URL of the hub, often `/.well-known/mercure`.
  public var url: URL
  /// The topics.
  public var topics: [Topic]
  /// The place of the token. Default: the header.
  public var tokenPlace = TokenPlace.header
  /// Returns the token of the subscriber; `nil` for public updates only. Default: `nil`.
  ///
  /// It is called for each connection, and once more after the hub has refused its token. A hub
  /// ends the connection when the token expires, so return a token with some time left. A call that
  /// takes more than ten seconds is cancelled, and counts as a connection that has failed.
  public var token: (@Sendable () async throws -> String)?

  /// Creates the description of a hub.
  public init(_ url: URL, topics: [Topic], token: (@Sendable () async throws -> String)? = nil) {
    (self.url, self.topics, self.token) = (url, topics, token)
  }

  /// Creates the description of the hub that a response names in a link with `rel="mercure"`; `nil`
  /// for a response without one.
  ///
  /// ```swift
  /// let book = try await books.fetchResponse("books/7")
  /// if let hub = MercureHub(in: book.links, of: api) { … }
  /// ```
  ///
  /// - Parameters:
  ///   - links: The links of the response.
  ///   - base: The URL of the response, to which the links are relative.
  ///   - topics: The topics. By default, the response's link with `rel="self"`, or else its URL.
  public init?(in links: [Resource.Link], of base: URL, topics: [Topic]? = nil) {
    guard let hub = links.first(where: { $0.relations.contains("mercure") }),
      let url = URL(string: hub.target, relativeTo: base)
    else { return nil }
    let own = links.first { $0.relations.contains("self") }?.target
    let topic = own.flatMap { URL(string: $0, relativeTo: base)?.absoluteString } ?? base.absoluteString
    self.init(url.absoluteURL, topics: topics ?? [Topic(topic)])
  }

  /// The URL of the subscription, without a token and a position.
  var subscription: String {
    let items = topics.map { "\($0.name)=\(Self.encoded($0.value))" }.joined(separator: "&")
    return url.absoluteString + (url.query == nil ? "?" : "&") + items
  }

  /// Returns the request behind a position.
  func request(behind id: String, _ token: String?) -> Resource {
    let path = url.path(percentEncoded: true)
    var items = (URLComponents(url: url, resolvingAgainstBaseURL: true)?.queryItems ?? [])
    items += topics.map { URLQueryItem(name: $0.name, value: $0.value) }
    var resource = Resource(path)
    (resource.headers[.accept], resource.headers[.cacheControl]) = ("text/event-stream", "no-store")
    if !id.isEmpty {
      // The field counts where a hub gets both. Something between may drop it.
      if let name = HTTPField.Name("Last-Event-ID") { resource.headers[name] = id }
      items.append(URLQueryItem(name: "lastEventID", value: id))
    }
    if let token {
      switch tokenPlace {
      case .header: resource.headers[.authorization] = "Bearer \(token)"
      case .query(let name): items.append(URLQueryItem(name: name, value: token))
      case .cookie(let name): resource.headers[.cookie] = "\(name)=\(token)"
      }
    }
    resource.query = items
    return resource
  }

  private static func encoded(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
  }
}

extension ModelLayer.Extension {
  /// The extension that follows the updates of a Mercure hub.
  ///
  /// ```swift
  /// let hub = MercureHub(url, topics: ["https://example.com/books/{id}"])
  /// let layer = ModelLayer(baseURL: api, extensions: [.mercure(hub)])
  /// ```
  ///
  /// An update says what to request again; its content is not shown by itself, since it has no
  /// entity tag. The layer's backend is asked for it, with the layer's credentials. The hub gets
  /// only the hub's ``MercureHub/token``. A transport that adds credentials by itself, such as a
  /// `URLSession` with cookies, adds them to the requests to the hub by the same rules: give the
  /// layer a transport that compares the origin.
  ///
  /// A hub ends each connection after a while, and when the token expires. The next one continues
  /// behind the last update. If the hub says by its `Last-Event-ID` that it cannot, or does not say
  /// it, everything that the topics cover is stale.
  ///
  /// - Parameters:
  ///   - hub: The hub.
  ///   - covers: The resources whose updates the topics are. Default: all of the layer.
  ///   - heartbeat: The interval at which the hub sends at least a comment. By default, silence has
  ///     no limit.
  ///   - configuration: When the stream is open, and how much it may cause.
  ///   - id: Returns the URL of an update's resource, absolute or relative to the base URL; `nil`
  ///     if it is not known, which makes everything stale. Default: `@id` of JSON-LD, or else a
  ///     `type` that is a URL.
  public static func mercure(
    _ hub: MercureHub, covers: [ResourceSet] = [.all], heartbeat: Duration? = nil,
    configuration: LiveConfiguration = LiveConfiguration(),
    id: @escaping @Sendable (ServerSentEvent) -> String? = { LiveMapping.mercureID(of: $0) }
  ) -> ModelLayer.Extension {
    let mapping = LiveMapping(naming: id, covers: covers, heartbeat: heartbeat)
    return live(mapping, configuration, place: hub.subscription) { layer in
      layer.backend?.baseURL.absoluteString ?? ""
    } open: { layer, request throws(ReactorError) in
      guard let backend = layer.backend, let origin = URL(string: "/", relativeTo: hub.url)?.absoluteURL else {
        throw .streamingUnsupported
      }
      // Without the middlewares of the API, whose credentials the hub must not get.
      let connection = Backend(baseURL: origin, transport: backend.transport, reachability: backend.reachability)
      do throws(ReactorError) {
        return try await hub.open(connection, layer, behind: request.lastEventID)
      } catch {
        guard hub.token != nil, case .server(let response, _) = error, response.status == .unauthorized else {
          throw error
        }
        return try await hub.open(connection, layer, behind: request.lastEventID)
      }
    }
  }
}

extension MercureHub {
  fileprivate func open(
    _ connection: Backend, _ layer: LayerContext, behind id: String
  ) async throws(ReactorError) -> LiveResponse {
    var token: String?
    if let make = self.token {
      let configuration = layer.configuration
      do { token = try await Self.token(make, on: configuration.clock, configuration.taskExecutor) } catch {
        throw ReactorError(error, wrap: ReactorError.authentication)
      }
    }
    let stream = try await connection.stream(for: request(behind: id, token), clock: layer.configuration.clock)
    return LiveResponse(stream)
  }
}

extension MercureHub {
  /// The time in which a token has to be there.
  static let patience: Duration = .seconds(10)

  /// Returns a token, without waiting longer than ``patience``, even for a call that ignores its
  /// cancellation.
  static func token(
    _ make: @escaping @Sendable () async throws -> String, on clock: any Clock<Duration>,
    _ executor: (any TaskExecutor)?
  ) async throws -> String {
    let (results, result) = AsyncStream.makeStream(of: Result<String, any Error>.self)
    let call = spawnApart(on: executor) {
      do { result.yield(.success(try await make())) } catch { result.yield(.failure(error)) }
    }
    let limit = spawnApart(on: executor) {
      do { try await clock.sleep(for: patience) } catch { return }
      result.yield(.failure(ReactorError.timedOut))
    }
    defer {
      call.cancel()
      limit.cancel()
    }
    for await result in results { return try result.get() }
    throw CancellationError()
  }
}

extension LiveMapping {
  /// Returns the URL of the resource that an update of a Mercure hub is about: `@id` of its
  /// JSON-LD, or else its `type`, if that is a URL or a path; `nil` for another update.
  public static func mercureID(of event: ServerSentEvent) -> String? {
    if let data = try? JSONValue(parsing: Data(event.data.utf8)), case .object(let members) = data,
      case .string(let id)? = members["@id"]
    {
      return id
    }
    return event.type.hasPrefix("/") || event.type.contains("://") ? event.type : nil
  }
}
