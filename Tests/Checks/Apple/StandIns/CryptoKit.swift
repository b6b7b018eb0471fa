// The few declarations of CryptoKit that the sources use.

public import Foundation

public struct SHA256Digest: Sequence, Sendable {
  public func makeIterator() -> Array<UInt8>.Iterator { [].makeIterator() }
}

public struct SHA256: Sendable {
  public init() {}

  public mutating func update<Bytes: DataProtocol>(data: Bytes) {}
  public func finalize() -> SHA256Digest { SHA256Digest() }
}
