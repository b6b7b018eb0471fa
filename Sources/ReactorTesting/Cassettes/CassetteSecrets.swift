import Foundation
public import HTTPTypes
public import ReactorCore

/// What no cassette holds.
///
/// A secret is replaced by the word `redacted`, so that a cassette can be played by whoever has another secret, or none. Bodies are not
/// looked at: what is secret there is for ``change`` to take out.
public struct CassetteSecrets: Sendable {
  /// Header fields whose value is replaced.
  ///
  /// Default: `Authorization`, `Proxy-Authorization`, `Cookie` and `Set-Cookie`.
  public var fields: Set<HTTPField.Name> = StoredFields.secret
  /// Query items whose value is replaced, in the URL and in the header fields that hold URLs; names, without regard to case.
  public var queryItems: Set<String>
  /// Called with each exchange before it is kept. It changes the exchange of the cassette, not the one that is under way.
  public var change: @Sendable (inout Cassette.Exchange) -> Void

  /// - Parameter queryItems: by default `ReactorConfiguration.secretQueryItems`' default.
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
