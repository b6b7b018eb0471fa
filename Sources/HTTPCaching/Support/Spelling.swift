package import HTTPTypes

extension String {
  /// Whether the bytes are the same: strings that look alike in Unicode are equal, and are other requests.
  package func isSpelled(as other: String) -> Bool {
    let (own, others) = (utf8, other.utf8)
    guard own.count == others.count else { return false }
    // The bytes where they lie: asking a string for each takes longer than all else here.
    let isSame = own.withContiguousStorageIfAvailable { own in
      others.withContiguousStorageIfAvailable { own.elementsEqual($0) }
    }
    return (isSame ?? nil) ?? own.elementsEqual(others)
  }
}

extension HTTPRequest {
  /// Scheme, authority and path as one text.
  package var absoluteURL: String { "\(scheme ?? "")://\(authority ?? "")\(path ?? "")" }
}
