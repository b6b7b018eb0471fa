import Foundation
import HTTPTypes

extension Resource {
  /// A limit of requests that a server announces in the field `RateLimit`, as of its response
  /// (draft-ietf-httpapi-ratelimit-headers-10).
  ///
  /// ```swift
  /// let limits = try await issues.fetchResponse("issues").rateLimits
  /// ```
  ///
  /// It promises nothing: a server may refuse a request before the limit is reached.
  public struct RateLimit: Sendable, Hashable {
    /// The name of the server's policy; empty where the server uses the syntax of draft 07.
    public let policy: String
    /// The number of requests, or of another unit, that are left.
    public let remaining: Int
    /// The time from the response until more are available, perhaps not all; `nil` if the server
    /// does not say.
    public let resetsAfter: Duration?
  }
}

extension Resource.RateLimit {
  private static let field = HTTPField.Name("RateLimit")

  /// Returns the limits of a response; empty if the field is missing or invalid.
  static func limits(in fields: HTTPFields) -> [Self] {
    guard let field, fields.contains(field) else { return [] }
    let items = StructuredField.list(fields, field) ?? []
    let limits = items.compactMap(Self.init)
    return limits.isEmpty ? older(fields, field).map { [$0] } ?? [] : limits
  }

  /// Returns the time for which the limits allow no request; `nil` if they allow one. Those of a
  /// response from another cache are out of date.
  static func pause(in fields: HTTPFields) -> Duration? {
    guard fields[.age].flatMap({ Int($0) }) ?? 0 == 0 else { return nil }
    return limits(in: fields).lazy.filter { $0.remaining == 0 }.compactMap(\.resetsAfter).max()
  }

  /// Reads one element. Only a limit of requests, the default of `qu`, delays anything.
  private init?(_ item: StructuredField.Item) {
    guard case .string(let policy) = item.value, case .integer(let remaining)? = item.parameters["r"], remaining >= 0
    else { return nil }
    if let unit = item.parameters["qu"], unit != .string("requests") { return nil }
    self.init(policy: policy, remaining: Int(remaining), resetsAfter: Self.time(item.parameters["t"]))
  }

  /// Reads the dictionary that draft 07 had under the same name.
  private static func older(_ fields: HTTPFields, _ field: HTTPField.Name) -> Self? {
    guard let members = StructuredField.dictionary(fields, field),
      case .integer(let remaining)? = members["remaining"]?.value, remaining >= 0, members["reset"] != nil
    else { return nil }
    return Self(policy: "", remaining: Int(remaining), resetsAfter: time(members["reset"]?.value))
  }

  private static func time(_ value: StructuredField.Value?) -> Duration? {
    if case .integer(let seconds)? = value, seconds >= 0 { .seconds(seconds) } else { nil }
  }
}
