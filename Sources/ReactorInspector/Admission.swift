import Foundation
import HTTPTypes
import ReactorCore

/// The access rules of the inspector. A decision depends only on the request.
struct Admission: Sendable {
  enum Action: Sendable, Hashable { case invalidate, remove, refetch }

  enum Decision: Sendable, Hashable {
    case page, live
    case key(id: String)
    case change(Action, id: String)
    case write(WriteStatus.Command, id: String)
    case offline(Bool)
    /// The request's host is not one of ``hosts``. Any name can resolve to this address (DNS
    /// rebinding).
    case misdirected
    /// The request has no password, or another one.
    case unauthorized
    case notFound
    case notAllowed(String)
    /// The refusal's reason, as the response's text.
    case forbidden(String)
    case badRequest(String)
  }

  /// The mount path, with a leading slash and no trailing one. Empty for the root.
  let path: String
  let hosts: Set<String>
  let token: String
  let password: Password?
  /// A Boolean value that indicates whether every change is refused.
  let isReadOnly: Bool

  init(path: String, hosts: Set<String>, token: String, password: String? = nil, isReadOnly: Bool = false) {
    self.path = path.split(separator: "/").map { "/\($0)" }.joined()
    self.hosts = Set(hosts.map { $0.lowercased() })
    self.token = token
    self.password = password.map { Password($0) }
    self.isReadOnly = isReadOnly
  }

  /// The field that carries the token.
  ///
  /// A page of another origin cannot set it: `fetch` sends a CORS preflight for such a field, and
  /// the inspector never grants one.
  static let tokenField = "X-Reactor-Inspector"

  func decision(_ request: HTTPRequest) -> Decision {
    guard hosts.contains(Self.host(request.authority ?? "")) else { return .misdirected }
    if let password, !password.isIn(request) { return .unauthorized }
    let (path, query) = Self.split(request.path ?? "/")
    guard path.hasPrefix(self.path) else { return .notFound }
    switch path.dropFirst(self.path.count) {
    case "", "/": return get(request) ?? .page
    case "/live": return get(request) ?? .live
    case "/key": return get(request) ?? query["id"].map { .key(id: $0) } ?? .badRequest("the query item id is missing")
    case "/invalidate": return change(.invalidate, request, query)
    case "/remove": return change(.remove, request, query)
    case "/refetch": return change(.refetch, request, query)
    case "/retry": return write(.retry, request, query)
    case "/discard": return write(.discard, request, query)
    case "/withdraw": return write(.withdraw, request, query)
    case "/offline": return offline(request, query)
    default: return .notFound
    }
  }

  private func get(_ request: HTTPRequest) -> Decision? { request.method == .get ? nil : .notAllowed("GET") }

  private func change(_ action: Action, _ request: HTTPRequest, _ query: [String: String]) -> Decision {
    refusal(request) ?? query["key"].map { .change(action, id: $0) } ?? .badRequest("the query item key is missing")
  }

  private func write(
    _ command: WriteStatus.Command, _ request: HTTPRequest, _ query: [String: String]
  ) -> Decision {
    refusal(request) ?? query["write"].map { .write(command, id: $0) } ?? .badRequest("the query item write is missing")
  }

  private func offline(_ request: HTTPRequest, _ query: [String: String]) -> Decision {
    if let refusal = refusal(request) { return refusal }
    return query["on"].flatMap(Bool.init).map { .offline($0) } ?? .badRequest("the query item on must be true or false")
  }

  /// Returns the reason to refuse a change, or `nil`. Forms and scripts of other origins may change
  /// nothing.
  private func refusal(_ request: HTTPRequest) -> Decision? {
    guard request.method == .post else { return .notAllowed("POST") }
    if isReadOnly { return .forbidden("the inspector is read-only; it changes nothing") }
    if let site = request.headerFields[field("Sec-Fetch-Site")], site != "same-origin" {
      return .forbidden("the request comes from another site; open the inspector's own page")
    }
    if let origin = request.headerFields[.origin], !isOwn(origin, request) {
      return .forbidden("the request comes from another origin; open the inspector's own page")
    }
    guard request.headerFields[field(Self.tokenField)] == token else {
      return .forbidden("the page belongs to an earlier run of the program; reload it")
    }
    return nil
  }

  private func isOwn(_ origin: String, _ request: HTTPRequest) -> Bool {
    ["http://", "https://"].contains { origin.lowercased() == $0 + (request.authority ?? "").lowercased() }
  }

  private func field(_ name: String) -> HTTPField.Name { HTTPField.Name(name) ?? .origin }

  /// Returns the host without its port. The port of an IPv6 address follows the closing bracket.
  private static func host(_ authority: String) -> String {
    let end = authority.lastIndex(of: "]") ?? authority.startIndex
    let colon = authority[end...].firstIndex(of: ":") ?? authority.endIndex
    return authority[..<colon].lowercased()
  }

  private static func split(_ target: String) -> (path: String, query: [String: String]) {
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    var query: [String: String] = [:]
    for item in parts.count > 1 ? parts[1].split(separator: "&") : [] {
      let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if pair.count == 2 { query[String(pair[0])] = String(pair[1]) }
    }
    return (parts.first.map(String.init) ?? "", query)
  }
}

/// The password of an inspector, as HTTP sends it (Basic, RFC 7617). It is in no description.
struct Password: Sendable, CustomReflectable {
  private let bytes: [UInt8]

  init(_ text: String) { bytes = Array(text.utf8) }

  var customMirror: Mirror { Mirror(self, children: []) }

  /// Returns `true` if a request has the password, with any user name. An empty password is never
  /// right.
  func isIn(_ request: HTTPRequest) -> Bool {
    guard let field = request.headerFields[.authorization], field.lowercased().hasPrefix("basic "),
      let credentials = Data(base64Encoded: String(field.dropFirst("basic ".count))),
      let colon = credentials.firstIndex(of: UInt8(ascii: ":"))
    else { return false }
    let given = credentials[credentials.index(after: colon)...]
    guard given.count == bytes.count, !bytes.isEmpty else { return false }
    // All bytes are compared, so that the time says nothing about the first ones.
    return zip(given, bytes).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
