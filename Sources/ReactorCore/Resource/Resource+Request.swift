import Foundation

extension Resource {
  /// The path with the query, percent-encoded: what names the resource where there is no base URL.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)`` where a value leaves its segment.
  func pathAndQuery() throws(ReactorError) -> String {
    if case .refused(let reason) = reading { throw .invalidResource(reason) }
    let mark = path.utf8.firstIndex(of: UInt8(ascii: "?"))
    let items = query.map(\.encoded)
    let written = mark.map { [PercentEncoding.writtenQuery(path[path.utf8.index(after: $0)...])] } ?? []
    let query = (written + items).filter { !$0.isEmpty }.joined(separator: "&")
    let encoded = PercentEncoding.path(mark.map { path[..<$0] } ?? path[...])
    return query.isEmpty ? encoded : "\(encoded)?\(query)"
  }
}

extension URLQueryItem {
  /// As it stands in a URL.
  var encoded: String {
    let name = PercentEncoding.queryItem(name)
    return value.map { "\(name)=\(PercentEncoding.queryItem($0))" } ?? name
  }
}
