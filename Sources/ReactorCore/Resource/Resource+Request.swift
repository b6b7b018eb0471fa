import Foundation
import HTTPTypes

extension Resource {
  /// The path with the query, percent-encoded: what names the resource where there is no base URL.
  var pathAndQuery: String {
    let mark = path.utf8.firstIndex(of: UInt8(ascii: "?"))
    let items = query.map { item in
      let name = PercentEncoding.queryItem(item.name)
      return item.value.map { "\(name)=\(PercentEncoding.queryItem($0))" } ?? name
    }
    let written = mark.map { [PercentEncoding.writtenQuery(path[path.utf8.index(after: $0)...])] } ?? []
    let query = (written + items).filter { !$0.isEmpty }.joined(separator: "&")
    let encoded = PercentEncoding.path(mark.map { path[..<$0] } ?? path[...])
    return query.isEmpty ? encoded : "\(encoded)?\(query)"
  }
}

extension HTTPRequest {
  /// Scheme, authority and path as one text.
  var absoluteURL: String { "\(scheme ?? "")://\(authority ?? "")\(path ?? "")" }
}
