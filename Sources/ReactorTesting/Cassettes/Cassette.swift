public import Foundation
public import HTTPTypes

/// Recorded exchanges with a server. A ``CassetteRecorder`` writes them, and a ``CassettePlayer``
/// plays them back.
///
/// A cassette is a JSON file to read, to edit and to keep under version control. It is
/// pretty-printed with sorted keys, so the same exchanges give the same bytes. The secrets that the
/// recorder knew by name are redacted; bodies are stored as they were.
public struct Cassette: Codable, Sendable, Hashable {
  /// The version of the file format that this code reads and writes.
  public static let currentVersion = 1

  /// The exchanges, in the order in which they began.
  public var exchanges: [Exchange]

  /// Creates a cassette of the given exchanges; empty by default.
  ///
  /// ```swift
  /// let cassette = Cassette(exchanges: [
  ///   .init(
  ///     request: .init(url: "https://api.example.com/stories"),
  ///     outcome: .response(.init(status: 200, body: Data("[]".utf8))))
  /// ])
  /// let layer = ModelLayer(baseURL: api, transport: CassettePlayer(cassette))
  /// ```
  public init(exchanges: [Exchange] = []) { self.exchanges = exchanges }

  /// A request and its outcome.
  public struct Exchange: Codable, Sendable, Hashable {
    /// The request, with its secrets redacted if a recorder made it.
    public var request: Request
    /// The response, or the failure of the transport.
    public var outcome: Outcome

    /// Creates an exchange from a request and its outcome.
    public init(request: Request, outcome: Outcome) {
      self.request = request
      self.outcome = outcome
    }
  }

  /// The outcome of a request.
  public enum Outcome: Sendable, Hashable {
    /// The server's response, of any final status.
    case response(Response)
    /// The transport failed, for the given reason, which contains no secret. A player throws
    /// `TransportError.connectionFailed(_:request:)` with it.
    case failure(String)
  }

  /// A recorded request. A player compares the method, the URL and the body, but no header field
  /// unless it is asked to.
  public struct Request: Codable, Sendable, Hashable {
    /// The method, in the case in which it was sent.
    public var method: HTTPRequest.Method
    /// The absolute URL, with the query.
    public var url: String
    /// The header fields, in order.
    public var fields: HTTPFields
    /// The body; empty if the message had no body.
    public var body: Data

    /// Creates a request; by default a GET without header fields and body.
    public init(method: HTTPRequest.Method = .get, url: String, fields: HTTPFields = [:], body: Data = Data()) {
      self.method = method
      self.url = url
      self.fields = fields
      self.body = body
    }
  }

  /// A recorded response. ``CassettePlayer`` plays it as it is.
  public struct Response: Codable, Sendable, Hashable {
    /// The status code, from 200 to 599 in a file.
    public var status: Int
    /// The header fields, in order.
    public var fields: HTTPFields
    /// The body; empty if the message had no body.
    public var body: Data

    /// Creates a response; by default without header fields and body.
    public init(status: Int, fields: HTTPFields = [:], body: Data = Data()) {
      self.status = status
      self.fields = fields
      self.body = body
    }
  }
}

extension Cassette.Request {
  init(_ request: HTTPRequest, body: Data?) {
    self.init(
      method: request.method,
      url: "\(request.scheme ?? "")://\(request.authority ?? "")\(request.path ?? "")",
      fields: request.headerFields, body: body ?? Data())
  }
}
