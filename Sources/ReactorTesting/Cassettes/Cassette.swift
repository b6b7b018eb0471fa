public import Foundation
public import HTTPTypes

/// Exchanges with a server that were recorded, to be played back: what a ``CassetteRecorder`` writes and a ``CassettePlayer`` plays.
///
/// Its file is JSON to be read by people, kept under version control, and changed by hand: pretty printed, with sorted keys, the
/// same for the same exchanges. It holds no secret that its recorder knew by name; bodies are as they were.
public struct Cassette: Codable, Sendable, Hashable {
  /// Of the files that this code reads and writes.
  public static let currentVersion = 1

  /// In the order in which they were begun.
  public var exchanges: [Exchange]

  public init(exchanges: [Exchange] = []) { self.exchanges = exchanges }

  /// A request, and what became of it.
  public struct Exchange: Codable, Sendable, Hashable {
    public var request: Request
    public var outcome: Outcome

    public init(request: Request, outcome: Outcome) {
      self.request = request
      self.outcome = outcome
    }
  }

  public enum Outcome: Sendable, Hashable {
    case response(Response)
    /// The transport failed, in words that hold no secret; played back as `TransportError.connectionFailed(_:)`.
    case failure(String)
  }

  public struct Request: Codable, Sendable, Hashable {
    public var method: HTTPRequest.Method
    /// Absolute, with the query.
    public var url: String
    public var fields: HTTPFields
    /// Empty where there is none.
    public var body: Data

    public init(method: HTTPRequest.Method = .get, url: String, fields: HTTPFields = [:], body: Data = Data()) {
      self.method = method
      self.url = url
      self.fields = fields
      self.body = body
    }
  }

  public struct Response: Codable, Sendable, Hashable {
    public var status: Int
    public var fields: HTTPFields
    /// Empty where there is none.
    public var body: Data

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
