import Foundation
import HTTPTypes

extension Resource {
  /// The path with the query, percent-encoded: what names the resource where there is no base URL.
  var pathAndQuery: String {
    let pieces = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let items = query.map { item in
      let name = PercentEncoding.queryItem(item.name)
      return item.value.map { "\(name)=\(PercentEncoding.queryItem($0))" } ?? name
    }
    let written = pieces.count == 2 ? [PercentEncoding.writtenQuery(pieces[1])] : []
    let query = (written + items).filter { !$0.isEmpty }.joined(separator: "&")
    let path = PercentEncoding.path(pieces.first ?? "")
    return query.isEmpty ? path : "\(path)?\(query)"
  }
}

extension HTTPRequest {
  /// Scheme, authority and path as one text.
  var absoluteURL: String { "\(scheme ?? "")://\(authority ?? "")\(path ?? "")" }
}
