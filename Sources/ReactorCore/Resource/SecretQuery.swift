import Foundation
import HTTPTypes

/// Query items whose value may be said nowhere.
enum SecretQuery {
  /// `url` with the value of each named item replaced by its SHA-256, so that it still tells two requests apart.
  ///
  /// - Parameter names: compared without regard to case, after percent-decoding.
  static func redact(_ url: String, names: Set<String>) -> String {
    guard !names.isEmpty, let mark = url.utf8.firstIndex(of: UInt8(ascii: "?")) else { return url }
    let secret = Set(names.map { $0.lowercased() })
    let start = url.utf8.index(after: mark)
    let items = url[start...].split(separator: "&", omittingEmptySubsequences: false)
    let redacted = items.map { item in
      self.item(Array(item.utf8)[...], secret).map { String(decoding: $0, as: UTF8.self) } ?? String(item)
    }
    return url[..<start] + redacted.joined(separator: "&")
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
    while let start = rest.firstIndex(where: isStart) {
      redacted += rest[...start]
      rest = rest[(start + 1)...]
      // Each byte is read once: what is no name is looked through no further than to where the next one may begin.
      let name = rest.prefix { $0 != equals && !isStart($0) && !isEnd($0) }
      guard rest[name.endIndex...].first == equals, isSecret(name, secret) else { continue }
      let value = rest[(name.endIndex + 1)...].prefix { !isEnd($0) }
      redacted += digested(name, value)
      rest = rest[value.endIndex...]
    }
    return String(decoding: redacted + rest, as: UTF8.self)
  }

  /// The item with its value digested; `nil` where it is no secret.
  private static func item(_ item: ArraySlice<UInt8>, _ secret: Set<String>) -> [UInt8]? {
    guard let end = item.firstIndex(of: equals), isSecret(item[..<end], secret) else { return nil }
    return digested(item[..<end], item[(end + 1)...])
  }

  private static func isSecret(_ name: ArraySlice<UInt8>, _ secret: Set<String>) -> Bool {
    let name = String(decoding: name, as: UTF8.self)
    return secret.contains((name.removingPercentEncoding ?? name).lowercased())
  }

  private static func digested(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) -> [UInt8] {
    Array(name) + Array("=sha256-\(SHA256Digest.hex(Array(value)))".utf8)
  }

  private static let equals = UInt8(ascii: "=")

  private static func isStart(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "?"), UInt8(ascii: "&"), UInt8(ascii: "#"): true
    default: false
    }
  }

  private static func isEnd(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "&"), UInt8(ascii: "#"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""),
      UInt8(ascii: " "), UInt8(ascii: "\t"):
      true
    default: false
    }
  }
}
