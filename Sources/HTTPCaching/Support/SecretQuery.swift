import Foundation
package import HTTPTypes

/// The one definition of a secret in a URL: the values of named query items, and the URL's user and password.
///
/// ``SecretScanner`` finds them for every door: keys, records, events, errors, logs, the proxy and cassettes.
package enum SecretQuery {
  /// The items that are secret where nobody says otherwise.
  package static let defaultNames: Set<String> = [
    "access_token", "api_key", "apikey", "auth", "client_secret", "key", "password", "secret", "sig", "signature",
    "token",
  ]

  /// The response's fields that name URLs.
  package static let urlFields: Set<HTTPField.Name> = Set(
    [.location, .contentLocation] + ["Link", "Refresh"].compactMap { HTTPField.Name($0) })

  /// Returns `url` with each secret replaced by its digest, which still tells two requests apart.
  ///
  /// - Parameter names: compared without regard to case, after percent-decoding.
  package static func redact(_ url: String, names: Set<String>, digests: SecretDigests) -> String {
    redact(url, names, .url, with: digests.digest)
  }

  /// Returns `text` with each secret of its URLs replaced by `mark`.
  ///
  /// - Parameter isURL: `true` where the text is one URL, so that nothing in it ends the URL.
  package static func redact(
    text: String, isURL: Bool = false, names: Set<String> = defaultNames, with mark: String
  ) -> String {
    redact(text, names, isURL ? .url : .prose) { _ in Array(mark.utf8) }
  }

  /// Returns `fields` with the secrets of the URLs in ``urlFields`` replaced by their digests.
  package static func redact(_ fields: HTTPFields, names: Set<String>, digests: SecretDigests) -> HTTPFields {
    guard fields.contains(where: { urlFields.contains($0.name) }) else { return fields }
    return HTTPFields(
      fields.map { field in
        guard urlFields.contains(field.name) else { return field }
        var field = field
        field.value = redact(field.value, names, text(of: field.name), with: digests.digest)
        return field
      })
  }

  /// Returns stored `fields` with those secrets again that `url`, the client's own request, holds as well.
  ///
  /// - Returns: `nil` where a digest remains: the fields hold a secret that the client has not shown.
  static func restore(
    _ fields: HTTPFields, from url: String, names: Set<String>, digests: SecretDigests
  ) -> HTTPFields? {
    let urls = fields.filter { urlFields.contains($0.name) }
    guard urls.contains(where: { $0.value.contains(SecretDigests.prefix) }) else { return fields }
    let bytes = Array(url.utf8)
    let secrets = Set(SecretScanner(bytes, names: lowercased(names), .url).secrets().map { Array(bytes[$0]) })
    var fields = fields
    for index in fields.indices where urlFields.contains(fields[index].name) {
      for secret in secrets {
        fields[index].value = fields[index].value.replacing(
          String(decoding: digests.digest(secret), as: UTF8.self), with: String(decoding: secret, as: UTF8.self))
      }
      if fields[index].value.firstRange(of: #/hmac-[0-9a-f]{64}/#) != nil { return nil }
    }
    return fields
  }
}

extension SecretQuery {
  private static func lowercased(_ names: Set<String>) -> Set<String> { Set(names.map { $0.lowercased() }) }

  /// Two fields are one URL each (RFC 9110 §8.7, §10.2.2).
  private static func text(of name: HTTPField.Name) -> SecretScanner.Text {
    name == .location || name == .contentLocation ? .url : .prose
  }

  private static func redact(
    _ text: String, _ names: Set<String>, _ kind: SecretScanner.Text, with mark: ([UInt8]) -> [UInt8]
  ) -> String {
    // Each secret stands behind one of these, or behind its encoding.
    guard text.utf8.contains(where: { "=@%".utf8.contains($0) }) else { return text }
    let bytes = Array(text.utf8)
    let secrets = SecretScanner(bytes, names: lowercased(names), kind).secrets()
    guard !secrets.isEmpty else { return text }
    var (redacted, rest) = ([UInt8](), 0)
    for secret in secrets {
      redacted += bytes[rest..<secret.lowerBound]
      redacted += mark(Array(bytes[secret]))
      rest = secret.upperBound
    }
    return String(decoding: redacted + bytes[rest...], as: UTF8.self)
  }
}
