import Foundation
public import HTTPTypes
public import ReactorCore

/// The secrets that a cassette must not contain.
///
/// ```swift
/// var secrets = CassetteSecrets { exchange in
///   if exchange.request.url.hasSuffix("/session") { exchange.request.body = Data() }
/// }
/// secrets.queryItems.insert("signature")
/// ```
///
/// Each secret is replaced by the word `redacted`. A cassette can therefore be played with another
/// secret, or with none. Bodies are not searched; remove their secrets in ``change``.
public struct CassetteSecrets: Sendable {
  /// The header fields whose values are redacted.
  ///
  /// Default: `Authorization`, `Proxy-Authorization`, `Cookie` and `Set-Cookie`.
  public var fields: Set<HTTPField.Name> = StoredFields.secret
  /// The names of query items whose values are redacted, in the URL and in header fields that
  /// contain URLs. Case does not matter.
  public var queryItems: Set<String>
  /// A closure that edits each exchange before it is recorded. The exchange in flight stays as it
  /// is.
  public var change: @Sendable (inout Cassette.Exchange) -> Void

  /// Creates a set of secrets.
  ///
  /// - Parameters:
  ///   - queryItems: The names of secret query items; by default
  ///     `ReactorConfiguration.secretQueryItems`.
  ///   - change: A closure that edits each exchange before it is recorded. It runs after redaction.
  public init(
    queryItems: Set<String> = ReactorConfiguration().secretQueryItems,
    change: @escaping @Sendable (inout Cassette.Exchange) -> Void = { _ in }
  ) {
    self.queryItems = queryItems
    self.change = change
  }
}

extension CassetteSecrets {
  func redacted(_ request: Cassette.Request) -> Cassette.Request {
    var request = request
    request.url = redacted(withoutUser(request.url), isURL: true)
    request.fields = redacted(request.fields)
    return request
  }

  func redacted(_ exchange: Cassette.Exchange) -> Cassette.Exchange {
    var exchange = exchange
    exchange.request = redacted(exchange.request)
    switch exchange.outcome {
    case .response(var response):
      response.fields = redacted(response.fields)
      exchange.outcome = .response(response)
    case .failure(let reason): exchange.outcome = .failure(redacted(reason))
    }
    change(&exchange)
    return exchange
  }

  private func redacted(_ fields: HTTPFields) -> HTTPFields {
    HTTPFields(
      fields.map { field in
        var field = field
        field.value = self.fields.contains(field.name) ? "redacted" : redacted(field.value)
        return field
      })
  }

  private func redacted(_ text: String, isURL: Bool = false) -> String {
    SecretQuery.redact(text: text, isURL: isURL, names: queryItems, with: "redacted")
  }

  private func withoutUser(_ url: String) -> String {
    url.replacing(#/^([^:\/?#]*:\/\/)[^\/?#]*@/#) { "\($0.output.1)" }
  }
}
