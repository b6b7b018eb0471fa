import Foundation

/// A placeholder for an id that the server will assign. It is unique, and has the form of a string
/// and of a negative number.
///
/// ```swift
/// let add = AddPost(title: "Hello")
/// try await layer.submit(add)
/// let id = layer.outbox.identity(of: add.id)  // the server's id, once it is known
/// ```
///
/// It is saved as the string. Once the server has assigned an id, the outbox replaces the
/// placeholder in every saved write.
public struct TemporaryID: Hashable, Sendable, Codable, CustomStringConvertible {
  /// The id as a string: `tmp-` and a UUID, or the id that the server has given.
  public let string: String

  /// Creates an id.
  public init() { string = Self.prefix + UUID().uuidString }

  /// The id as a number: from -2⁵³ to -2⁵², so that it is exact in every JSON decoder; or the
  /// number that the server has given.
  public var int: Int {
    guard isTemporary else { return Int(string) ?? Self.number(of: string) }
    return Self.number(of: string)
  }

  /// A Boolean value that indicates whether the server has not assigned an id yet.
  ///
  /// ```swift
  /// Text(comment.text).opacity(comment.id.isTemporary ? 0.5 : 1)
  /// ```
  public var isTemporary: Bool { Self.isTemporary(string) }

  public var description: String { string }

  /// Reads the id. A number is always a server's id.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let string = try? container.decode(String.self) {
      self.string = string
    } else {
      string = String(try container.decode(Int.self))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(string)
  }

  static let prefix = "tmp-"
  /// The length of a temporary string in bytes.
  static let length = 40

  /// Returns `true` only for a string of ``init()``, not for a user's text.
  static func isTemporary(_ string: String) -> Bool {
    guard string.utf8.count == length, string.utf8.starts(with: prefix.utf8) else { return false }
    // As `uuidString` writes it. Reading a UUID and writing it again takes a microsecond.
    return string.utf8.dropFirst(prefix.utf8.count).enumerated().allSatisfy { index, byte in
      switch index {
      case 8, 13, 18, 23: byte == UInt8(ascii: "-")
      default:
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte)
      }
    }
  }

  static func isTemporary(_ number: Int64) -> Bool { (-(1 << 53) ... -(1 << 52)).contains(number) }

  /// Returns the number that stands for a temporary string.
  static func number(of string: String) -> Int { Int(truncatingIfNeeded: number64(of: string)) }

  static func number64(of string: String) -> Int64 {
    // FNV-1a, which is the same in each process.
    let hash = string.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return -(1 << 52) - Int64(hash >> 12)
  }
}
