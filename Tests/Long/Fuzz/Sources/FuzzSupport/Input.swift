public import Foundation

/// The bytes that libFuzzer made up.
public struct Input: Sendable {
  public let bytes: [UInt8]

  public init(_ start: UnsafePointer<UInt8>?, _ count: Int) {
    bytes = Array(UnsafeBufferPointer(start: start, count: count))
  }

  /// A number that is the same for the same bytes (FNV-1a): what a property draws from it, a kept
  /// input draws again.
  public var hash: UInt64 {
    bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
  }

  /// The bytes; of every second input as a slice, whose first index is not zero.
  public var data: Data { hash % 2 == 0 ? Data(bytes) : (Data([0]) + bytes).dropFirst() }

  /// Of one input in 256, a quarter of a megabyte of copies. What takes the square of their length
  /// meets libFuzzer's time limit.
  public func pumped(separator: String = "", inside: (String, String) = ("", "")) -> Data? {
    guard hash >> 8 % 256 == 0, !bytes.isEmpty else { return nil }
    let copy = bytes + Array(separator.utf8)
    var pumped = Data(inside.0.utf8)
    for _ in 0..<max(1, 262_144 / copy.count) { pumped += copy }
    return pumped.dropLast(separator.utf8.count) + Data(inside.1.utf8)
  }
}
