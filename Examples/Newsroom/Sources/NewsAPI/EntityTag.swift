import Foundation

/// A strong validator (RFC 9110 §8.8.3): the FNV-1a hash of the bytes.
enum EntityTag {
  static func of(_ bytes: Data) -> String {
    let hash = bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return "\"\(String(hash, radix: 16))\""
  }
}
