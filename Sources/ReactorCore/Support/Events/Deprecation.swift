public import Foundation
import HTTPTypes
import Synchronization

extension ReactorEvent {
  /// A notice that a server will change or end a resource (RFC 9745, RFC 8594).
  ///
  /// ```swift
  /// layer.observeEvents(for: log) { log, event in
  ///   if case .deprecated(let notice) = event.kind { log.warn("\(event.key): \(notice)") }
  /// }
  /// ```
  public struct Deprecation: Sendable, Hashable {
    /// The date on which the resource is deprecated, perhaps in the future; `nil` if the server
    /// names none.
    public let date: Date?
    /// A Boolean value that indicates whether the server has sent `Deprecation`, and not `Sunset`
    /// alone.
    public let isDeprecated: Bool
    /// The date from which the resource may not answer any more; `nil` if the server names none.
    public let sunset: Date?
    /// The page that describes it, from a link `deprecation` or `sunset`; `nil` without a link.
    public let page: String?
    /// The resource to use instead, from a link `successor-version`; `nil` without a link.
    public let successor: String?
  }
}

extension ReactorEvent.Deprecation {
  private static let (field, sunsetField) = (HTTPField.Name("Deprecation"), HTTPField.Name("Sunset"))

  /// Reads the notice of a response; `nil` if it has none. The drafts before RFC 9745 had `true` or
  /// an HTTP-date, which are read as well.
  init?(_ fields: HTTPFields, now: Date) {
    let text = Self.field.flatMap { fields[$0] }?.trimmingCharacters(in: .whitespaces) ?? ""
    var isDeprecated = text == "true" || text == "?1"
    var date = HTTPDate.parse(text, now: now)
    if let name = Self.field, case .date(let seconds)? = StructuredField.list(fields, name)?.first?.value {
      date = Date(timeIntervalSince1970: TimeInterval(seconds))
    }
    isDeprecated = isDeprecated || date != nil
    let sunset = Self.sunsetField.flatMap { fields[$0] }.flatMap { HTTPDate.parse($0, now: now) }
    guard isDeprecated || sunset != nil else { return nil }
    let links = Resource.Link.links(in: fields)
    func target(_ relations: String...) -> String? {
      links.first { $0.relations.contains(where: relations.contains) && $0["anchor"] == nil }
        .map { Self.shown($0.target) }
    }
    self.init(
      date: date, isDeprecated: isDeprecated, sunset: sunset, page: target("deprecation", "sunset"),
      successor: target("successor-version"))
  }

  /// Returns a link's target without what may be a secret: its query, fragment, user and password.
  private static func shown(_ target: String) -> String {
    let path = String(target.prefix { $0 != "?" && $0 != "#" }.prefix(256))
    return SecretQuery.redact(text: path, isURL: true, with: "…")
  }

  /// A Boolean value that indicates whether both say the same, to the day: some servers move a date
  /// with each response.
  func isLike(_ other: Self) -> Bool {
    func day(_ date: Date?) -> Double? { date.map { ($0.timeIntervalSince1970 / 86_400).rounded(.down) } }
    return day(date) == day(other.date) && day(sunset) == day(other.sunset) && page == other.page
      && successor == other.successor && isDeprecated == other.isDeprecated
  }
}

extension ReactorEvent.Deprecation: CustomStringConvertible {
  /// The dates and the links, in one line.
  public var description: String {
    var parts = isDeprecated ? ["deprecated" + (date.map { " from \(HTTPDate.format($0))" } ?? "")] : []
    if let sunset { parts.append("no answers after \(HTTPDate.format(sunset))") }
    if let successor { parts.append("use \(successor)") }
    if let page { parts.append("see \(page)") }
    return parts.joined(separator: ", ")
  }
}

/// The notices that a layer has reported, so that each is reported once for a path.
final class ReportedDeprecations: Sendable {
  private static let limit = 256

  private let notices = Mutex<[(path: String, notice: ReactorEvent.Deprecation)]>([])

  /// Returns `true` the first time that a notice is passed for a path.
  func isNew(_ notice: ReactorEvent.Deprecation, of path: String) -> Bool {
    notices.withLock { notices in
      guard !notices.contains(where: { $0.path == path && $0.notice.isLike(notice) }) else { return false }
      if notices.count >= Self.limit { notices.removeFirst() }
      notices.append((path, notice))
      return true
    }
  }
}
