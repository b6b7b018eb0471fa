/// How many header fields a message may have. `HTTPFields` ends the process at 65,535, and no server has use for a tenth of that.
package enum FieldLimit {
  package static let count = 4_096

  /// - Throws: ``TransportError/tooManyFields(limit:)``, before there are any `HTTPFields`.
  package static func check(_ count: Int) throws(TransportError) {
    guard count <= self.count else { throw .tooManyFields(limit: self.count) }
  }
}
