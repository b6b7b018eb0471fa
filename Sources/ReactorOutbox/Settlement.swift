import FastJSON
import Foundation
public import ReactorCore

/// The consequences of an accepted mutation; see ``Mutation/settle(_:_:)``.
public struct Settlement: Sendable {
  /// The JSON of the ids that the server has given.
  private(set) var identities: [(TemporaryID, Data)] = []
  private(set) var invalidated: [ResourceSet] = []
  private(set) var keepsDraft: Duration?
  /// The reason why an id could not be encoded.
  private(set) var failure: String?

  init() {}

  /// Replaces a temporary id by the one that the server has given, in every other write of the
  /// outbox, saved or not.
  ///
  /// Each string or number of a mutation that *is* the temporary id becomes `id`.
  public mutating func identify(_ temporary: TemporaryID, as id: some Codable & Hashable & Sendable) {
    do { identities.append((temporary, try JSONEncoder().encode(id))) } catch { failure = "\(error)" }
  }

  /// Declares resources stale, as `ModelLayer.invalidate(_:)` does, beside those that HTTP and the
  /// drafts name.
  public mutating func invalidate(_ resources: ResourceSet...) { invalidated += resources }

  /// Shows the draft for a while longer, whatever arrives meanwhile: for a server that answers 202
  /// and applies the change later.
  public mutating func keepDraft(for duration: Duration) { keepsDraft = duration }
}

/// A stand-in for an id that the server will give: a string or a negative number that nothing else
/// has.
///
/// It is saved as its string. Once the server has given an id, every saved write holds that
/// instead.
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

  /// A Boolean value that indicates whether the server has not given an id yet.
  public var isTemporary: Bool { Self.isTemporary(string) }

  public var description: String { string }

  /// Reads the id. A number is one that the server has given.
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

  static func isTemporary(_ string: String) -> Bool {
    string.utf8.count == prefix.utf8.count + 36 && string.hasPrefix(prefix)
  }

  static func isTemporary(_ number: Int64) -> Bool { (-(1 << 53) ... -(1 << 52)).contains(number) }

  /// Returns the number that stands for a temporary string.
  static func number(of string: String) -> Int {
    // FNV-1a, which is the same in each process.
    let hash = string.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return -(1 << 52) - Int(hash >> 12)
  }
}
