import Foundation
package import HTTPTypes

/// The one definition of a secret in a URL: the values of named query items, and the URL's user and
/// password.
///
/// ``SecretScanner`` finds them in keys, records, events, errors, logs, cassettes and the proxy.
package enum SecretQuery {
  /// The names of query items that are secret by default.
  package static let defaultNames: Set<String> = [
    "access_token", "api_key", "apikey", "auth", "client_secret", "key", "password", "secret", "sig", "signature",
    "token",
  ]

  /// The fields of a response that contain URLs.
  package static let urlFields: Set<HTTPField.Name> = Set(
    [.location, .contentLocation] + ["Link", "Refresh"].compactMap { HTTPField.Name($0) })

  /// Returns `url` with each secret replaced by its digest. Different secrets still give different
  /// URLs.
  ///
  /// - Parameters:
  ///   - url: The URL.
  ///   - names: The names of secret items, compared in any case, after percent-decoding.
  ///   - digests: The digests of the store.
  package static func redact(_ url: String, names: Set<String>, digests: SecretDigests) -> String {
    redact(url, names, .url, with: digests.digest)
  }

  /// Returns `text` with each secret of its URLs replaced by `mark`.
  ///
  /// - Parameters:
  ///   - text: A URL, or text with URLs in it.
  ///   - isURL: Pass `true` if the text is one URL, so that no character ends it. Default: `false`.
  ///   - names: The names of secret items, in any case. Default: ``defaultNames``.
  ///   - mark: The replacement of a secret.
  package static func redact(
    text: String, isURL: Bool = false, names: Set<String> = defaultNames, with mark: String
  ) -> String {
    redact(text, names, isURL ? .url : .prose) { _ in Array(mark.utf8) }
  }

  /// Returns whether `url` holds a secret.
  ///
  /// - Parameter names: The names of secret items, in any case.
  package static func hasSecret(_ url: String, names: Set<String>) -> Bool {
    !SecretScanner(Array(url.utf8), names: lowercased(names), .url).secrets().isEmpty
  }

  /// Returns `fields` with digests in place of the secrets in ``urlFields``.
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

  /// Returns stored `fields` with secrets in place of their digests, as far as `url` holds the
  /// secrets.
  ///
  /// - Parameters:
  ///   - fields: The stored fields.
  ///   - url: The URL of the client's own request.
  ///   - names: The names of secret items, in any case.
  ///   - digests: The digests of the store.
  /// - Returns: The fields, or `nil` if they hold a secret that is not in the client's URL.
  package static func restore(
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

  /// Returns the shape of a field's value. Two fields are one URL each (RFC 9110 §8.7, §10.2.2).
  private static func text(of name: HTTPField.Name) -> SecretScanner.Text {
    name == .location || name == .contentLocation ? .url : .prose
  }

  /// Returns whether the text has a character that a secret follows, perhaps percent-encoded.
  private static func mayHoldSecret(_ text: String) -> Bool {
    let isMark = { (byte: UInt8) in
      byte == UInt8(ascii: "=") || byte == UInt8(ascii: "@") || byte == UInt8(ascii: "%")
    }
    // In place: reading each byte through the string would take a quarter of the time of a key.
    return text.utf8.withContiguousStorageIfAvailable { $0.contains(where: isMark) }
      ?? text.utf8.contains(where: isMark)
  }

  private static func redact(
    _ text: String, _ names: Set<String>, _ kind: SecretScanner.Text, with mark: ([UInt8]) -> [UInt8]
  ) -> String {
    guard mayHoldSecret(text) else { return text }
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
