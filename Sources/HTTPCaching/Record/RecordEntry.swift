public import Foundation

/// A line of the list of what a ``Persistence`` holds.
public struct RecordEntry: Sendable, Hashable {
  public var key: RecordKey
  /// Bytes that the record takes in the store.
  public var size: Int
  /// When the response was received, or the local value was saved.
  public var fetchedAt: Date
  /// When the record was last loaded or saved; `nil` where the store does not keep that.
  public var lastUsedAt: Date?
  /// ``Record/Head/freshUntil``.
  public var freshUntil: Date?

  public init(key: RecordKey, size: Int, fetchedAt: Date, lastUsedAt: Date? = nil, freshUntil: Date? = nil) {
    self.key = key
    self.size = size
    self.fetchedAt = fetchedAt
    self.lastUsedAt = lastUsedAt
    self.freshUntil = freshUntil
  }
}
