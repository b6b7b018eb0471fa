import Foundation
import HTTPTypes

/// Query items whose value may be said nowhere.
enum SecretQuery {
  /// `url` with the value of each named item replaced by its SHA-256, so that it still tells two requests apart.
  ///
  /// - Parameter names: compared without regard to case, after percent-decoding.
  static func redact(_ url: String, names: Set<String>) -> String {
    guard !names.isEmpty, let mark = url.firstIndex(of: "?") else { return url }
    let secret = Set(names.map { $0.lowercased() })
    let items = url[url.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false)
    let redacted = items.map { item in
      self.item(Array(item.utf8)[...], secret).map { String(decoding: $0, as: UTF8.self) } ?? String(item)
    }
    return url[...mark] + redacted.joined(separator: "&")
  }
}

extension SecretQuery {
  /// The fields that name URLs.
  private static let urlFields: Set<HTTPField.Name> = Set(
    [.location, .contentLocation] + ["Link"].compactMap { HTTPField.Name($0) })

  /// `fields` with the value of each named item replaced in the URLs of `Location`, `Content-Location` and `Link`.
  static func redact(_ fields: HTTPFields, names: Set<String>) -> HTTPFields {
    guard !names.isEmpty, fields.contains(where: { urlFields.contains($0.name) }) else { return fields }
    let secret = Set(names.map { $0.lowercased() })
    return HTTPFields(
      fields.map { field in
        guard urlFields.contains(field.name) else { return field }
        var field = field
        field.value = redact(text: field.value, secret)
        return field
      })
  }

  /// Each item begins after `?`, `&` or the `#` of a fragment, and ends before `&`, `#` or what no URL holds (RFC 3986 §2).
  private static func redact(text: String, _ secret: Set<String>) -> String {
    var (redacted, rest) = ([UInt8](), Array(text.utf8)[...])
    while let start = rest.firstIndex(where: { starts.contains($0) }) {
      redacted += rest[...start]
      rest = rest[(start + 1)...]
      let item = rest.prefix { !ends.contains($0) }
      guard let digested = self.item(item, secret) else { continue }
      redacted += digested
      rest = rest[item.endIndex...]
    }
    return String(decoding: redacted + rest, as: UTF8.self)
  }

  /// The item with its value digested; `nil` where it is no secret.
  private static func item(_ item: ArraySlice<UInt8>, _ secret: Set<String>) -> [UInt8]? {
    guard let equals = item.firstIndex(of: UInt8(ascii: "=")) else { return nil }
    let name = String(decoding: item[..<equals], as: UTF8.self)
    guard secret.contains((name.removingPercentEncoding ?? name).lowercased()) else { return nil }
    return Array("\(name)=sha256-\(SHA256Digest.hex(Array(item[(equals + 1)...])))".utf8)
  }

  private static let starts = Set("?&#".utf8)
  private static let ends = Set("&#<>\" \t".utf8)
}
