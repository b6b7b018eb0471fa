import Foundation
import HTTPTypes
import ReactorCore

/// A request as lines, to compare requests and to show their difference.
///
/// There is a line for the method, the URL, each query item, and each field that counts, and then
/// the lines of the body.
struct CassetteRequestLines: Sendable, Hashable {
  private let lines: [String]

  /// The method, and the URL without its query.
  let name: String

  init(_ request: Cassette.Request, _ fields: Set<HTTPField.Name>) {
    let parts = request.url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    name = "\(request.method.rawValue) \(parts[0])"
    let items = parts.dropFirst().flatMap { $0.split(separator: "&", omittingEmptySubsequences: false) }
    let counted = request.fields.filter { fields.contains($0.name) }
      .map { "\($0.name.canonicalName): \($0.value)" }.sorted()
    lines =
      [request.method.rawValue, String(parts[0])] + items.map { "?\($0)" } + counted + Self.lines(of: request.body)
  }

  /// Returns the lines of a body. JSON gets a canonical form, since encoders order members
  /// differently.
  private static func lines(of body: Data) -> [String] {
    if body.isEmpty { return [] }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let json = (try? JSONValue(parsing: body)).flatMap { try? encoder.encode($0) }
    guard let text = String(validating: json ?? body, as: UTF8.self) else { return [body.base64EncodedString()] }
    return text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }
}

extension CassetteRequestLines {
  /// The number of lines that are compared for a difference. The time grows with its square.
  private static let limit = 100

  private var head: ArraySlice<String> { lines.prefix(Self.limit) }

  func distance(to other: Self) -> Int { head.difference(from: other.head).count }

  /// Returns the lines of both requests. `- ` precedes lines that only `recorded` has, `+ ` lines
  /// that only this request has.
  func difference(from recorded: Self) -> String {
    let changes = Array(head).difference(from: Array(recorded.head))
    var (removed, inserted) = (Set<Int>(), Set<Int>())
    for change in changes {
      switch change {
      case .remove(let offset, _, _): removed.insert(offset)
      case .insert(let offset, _, _): inserted.insert(offset)
      }
    }
    var result: [String] = []
    var (old, new) = (0, 0)
    while old < recorded.head.count || new < head.count {
      if removed.contains(old), old < recorded.head.count {
        result.append("- \(recorded.lines[old])")
        old += 1
      } else if inserted.contains(new), new < head.count {
        result.append("+ \(lines[new])")
        new += 1
      } else {
        if new < head.count { result.append("  \(lines[new])") }
        old += 1
        new += 1
      }
    }
    if lines.count > Self.limit || recorded.lines.count > Self.limit { result.append("  …") }
    return result.joined(separator: "\n")
  }
}
