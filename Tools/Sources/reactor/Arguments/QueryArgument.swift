import ArgumentParser
import Foundation

/// A query item of the command line: `name=value`, not percent-encoded.
enum QueryArgument {
  static func parse(_ text: String) throws -> URLQueryItem {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty else { throw ValidationError("write a query item as name=value") }
    return URLQueryItem(name: String(parts[0]), value: String(parts[1]))
  }
}
