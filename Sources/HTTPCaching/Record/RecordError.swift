import Foundation

/// Why a stored record cannot be read, or a record cannot be stored. Whoever loads treats it as a miss.
@nonexhaustive public enum RecordError: Error, Sendable, Hashable {
  /// The record ends before it says that it does; an empty one too.
  case truncated
  /// The bytes are not what was written; the text says what was seen.
  case corrupt(String)
  /// A newer release wrote it, in this format. It stays as it is until something is saved under its key.
  case newerFormat(UInt64)
  /// The record's identity is not that of the key it was to be saved under. Nothing was saved.
  case wrongKey
}

extension RecordError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .truncated: "the record is cut off"
    case .corrupt(let what): "the record is corrupt: \(what)"
    case .newerFormat(let version):
      "the record has format \(version), which is newer than this release reads (\(RecordCodec.formatVersion))"
    case .wrongKey: "the record belongs to another key; make it with the identity of the key it is saved under"
    }
  }
}

extension Record {
  /// Whether it was made for `key`. Compared byte by byte: two names that are equal as text may differ in their bytes.
  package func belongs(to key: RecordKey) -> Bool {
    var (own, wanted) = (head.identity, key.identity)
    return own.withUTF8 { own in
      wanted.withUTF8 { wanted in
        guard let start = own.baseAddress, let other = wanted.baseAddress else { return own.count == wanted.count }
        return own.count == wanted.count && memcmp(start, other, own.count) == 0
      }
    }
  }
}
