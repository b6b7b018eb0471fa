import Foundation
import HTTPTypes

extension Cassette {
  private enum CodingKeys: String, CodingKey { case version, exchanges }

  /// Decodes a cassette.
  ///
  /// - Throws: ``CassetteError/unknownVersion(_:)`` for another version than ``currentVersion``;
  ///   `DecodingError` for malformed contents.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let version = try container.decode(Int.self, forKey: .version)
    guard version == Self.currentVersion else { throw CassetteError.unknownVersion(version) }
    exchanges = try container.decode([Exchange].self, forKey: .exchanges)
  }

  /// Encodes the cassette, with the current version.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(Self.currentVersion, forKey: .version)
    try container.encode(exchanges, forKey: .exchanges)
  }
}

extension Cassette.Exchange {
  private enum CodingKeys: String, CodingKey { case request, response, failure }

  /// Decodes an exchange: a failure if the member `failure` is present, otherwise a response.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    request = try container.decode(Cassette.Request.self, forKey: .request)
    outcome =
      if let failure = try container.decodeIfPresent(String.self, forKey: .failure) {
        .failure(failure)
      } else {
        .response(try container.decode(Cassette.Response.self, forKey: .response))
      }
  }

  /// Encodes the request, and the outcome as the member `response` or `failure`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(request, forKey: .request)
    switch outcome {
    case .response(let response): try container.encode(response, forKey: .response)
    case .failure(let failure): try container.encode(failure, forKey: .failure)
    }
  }
}

extension Cassette.Request {
  private enum CodingKeys: String, CodingKey { case method, url }

  /// Decodes a request. The method must be a valid token (RFC 9110 §9.1).
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let name = try container.decode(String.self, forKey: .method)
    guard let method = HTTPRequest.Method(name) else {
      throw DecodingError.dataCorruptedError(
        forKey: .method, in: container, debugDescription: "'\(name)' is not an HTTP method")
    }
    let message = try Message(from: decoder)
    self.init(
      method: method, url: try container.decode(String.self, forKey: .url), fields: message.fields, body: message.body)
  }

  /// Encodes the request. A body that is valid UTF-8 is encoded as text, any other as Base64.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(method.rawValue, forKey: .method)
    try container.encode(url, forKey: .url)
    try Message(fields: fields, body: body).encode(to: encoder)
  }
}

extension Cassette.Response {
  private enum CodingKeys: String, CodingKey { case status }

  /// Decodes a response. The status must be from 200 to 599.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let status = try container.decode(Int.self, forKey: .status)
    guard (200..<600).contains(status) else {
      throw DecodingError.dataCorruptedError(
        forKey: .status, in: container, debugDescription: "\(status) is not a final status (200 to 599)")
    }
    let message = try Message(from: decoder)
    self.init(status: status, fields: message.fields, body: message.body)
  }

  /// Encodes the response. A body that is valid UTF-8 is encoded as text, any other as Base64.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(status, forKey: .status)
    try Message(fields: fields, body: body).encode(to: encoder)
  }
}

/// The common part of requests and responses: fields as lines, and a body as text if it is valid
/// UTF-8.
private struct Message: Codable {
  private enum CodingKeys: String, CodingKey { case fields, body, base64 }

  var fields: HTTPFields
  var body: Data

  init(fields: HTTPFields, body: Data) {
    self.fields = fields
    self.body = body
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    var fields = HTTPFields()
    for line in try container.decodeIfPresent([String].self, forKey: .fields) ?? [] {
      guard let field = HTTPField(line: line) else {
        throw DecodingError.dataCorruptedError(
          forKey: .fields, in: container, debugDescription: "'\(line)' is not a header field; write 'Name: value'")
      }
      fields.append(field)
    }
    self.fields = fields
    let text = try container.decodeIfPresent(String.self, forKey: .body)
    body = try text.map { Data($0.utf8) } ?? container.decodeIfPresent(Data.self, forKey: .base64) ?? Data()
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    if !fields.isEmpty { try container.encode(fields.map { "\($0.name.rawName): \($0.value)" }, forKey: .fields) }
    if body.isEmpty { return }
    if let text = String(validating: body, as: UTF8.self) {
      try container.encode(text, forKey: .body)
    } else {
      try container.encode(body, forKey: .base64)
    }
  }
}

extension HTTPField {
  fileprivate init?(line: String) {
    let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let name = HTTPField.Name(String(parts[0])) else { return nil }
    let value = parts[1].trimmingCharacters(in: .whitespaces)
    guard Self.isValidValue(value) else { return nil }
    self.init(name: name, value: value)
  }
}
