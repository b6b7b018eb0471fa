#if Sealing
  import Crypto
  import Foundation

  /// The bytes of sealed data.
  ///
  /// | bytes | content |
  /// | --- | --- |
  /// | 0–3 | `RSEA` |
  /// | 4 | the format, 1 |
  /// | 5 | the kind |
  /// | 6–13 | the id of the key, big-endian |
  /// | 14–25 | the nonce, 96 random bits |
  /// | 26– | the ciphertext of AES-256-GCM, as long as the content |
  /// | last 16 | the tag |
  ///
  /// The associated data are bytes 0 to 13, and each part of the place: its length in eight bytes,
  /// little-endian, and its bytes. Format and magic number keep their place in every future format.
  enum SealFormat {
    /// The meaning of sealed data.
    enum Kind: UInt8 {
      case record = 1
      case summary, entry, identity, state, label
      /// Not sealed, since it must be readable with a wrong key. See ``SealCard``.
      case card
    }

    static let version: UInt8 = 1
    static let headerLength = 14
    static let nonceLength = 12
    static let tagLength = 16
    /// The number of bytes by which sealed data are longer than their content.
    static let overhead = headerLength + nonceLength + tagLength
    private static let magic = Array("RSEA".utf8)

    static func header(_ kind: Kind, _ id: SealingKey.ID) -> [UInt8] {
      magic + [version, kind.rawValue] + withUnsafeBytes(of: id.number.bigEndian) { Array($0) }
    }

    /// Seals `content` for a place.
    ///
    /// - Parameter nonce: Only tests name one.
    static func seal(
      _ content: some DataProtocol, _ kind: Kind, at place: [[UInt8]], with key: DerivedKey, nonce: AES.GCM.Nonce? = nil
    ) throws -> Data {
      let header = header(kind, key.id)
      let box = try AES.GCM.seal(
        content, using: key.key, nonce: nonce ?? AES.GCM.Nonce(), authenticating: associated(header, place))
      var sealed = Data(capacity: overhead + box.ciphertext.count)
      sealed.append(contentsOf: header)
      box.nonce.withUnsafeBytes { sealed.append(contentsOf: $0) }
      sealed.append(box.ciphertext)
      sealed.append(box.tag)
      return sealed
    }

    /// Returns the content of sealed data.
    ///
    /// - Parameters:
    ///   - what: The name of the data in an error.
    ///   - key: Returns the key of that id.
    static func open(
      _ sealed: Data, _ kind: Kind, at place: [[UInt8]], _ what: @autoclosure () -> String,
      key: (SealingKey.ID) throws -> DerivedKey
    ) throws -> Data {
      let id = try keyID(of: sealed, kind, what())
      let derived = try key(id)
      let header = [UInt8](sealed.prefix(headerLength))
      do {
        let box = try AES.GCM.SealedBox(combined: sealed.dropFirst(headerLength))
        return try AES.GCM.open(box, using: derived.key, authenticating: associated(header, place))
      } catch {
        throw SealingError.altered(what())
      }
    }

    /// Returns the id of the key that has sealed the data.
    ///
    /// - Throws: ``SealingError/notSealed(_:)``, ``SealingError/newerFormat(_:)``,
    ///   ``SealingError/altered(_:)`` for data of another kind.
    static func keyID(
      of sealed: Data, _ kind: Kind, _ what: @autoclosure () -> String
    ) throws(SealingError) -> SealingKey.ID {
      let header = [UInt8](sealed.prefix(headerLength))
      guard header.count == headerLength, header.starts(with: magic) else { throw .notSealed(what()) }
      guard header[4] <= version else { throw .newerFormat(header[4]) }
      guard header[4] == version, header[5] == kind.rawValue else { throw .altered(what()) }
      guard sealed.count >= overhead || kind == .card else { throw .notSealed(what()) }
      return SealingKey.ID(number: header[6...].reduce(0) { $0 << 8 | UInt64($1) })
    }

    private static func associated(_ header: [UInt8], _ place: [[UInt8]]) -> [UInt8] {
      place.reduce(into: header) { bytes, part in
        withUnsafeBytes(of: UInt64(part.count).littleEndian) { bytes.append(contentsOf: $0) }
        bytes += part
      }
    }
  }

  /// A key of AES-GCM, with the id of the key that it is derived from.
  struct DerivedKey: Sendable {
    let id: SealingKey.ID
    let key: SymmetricKey
  }

  extension DerivedKey {
    /// Derives a key by HKDF-SHA256 (RFC 5869), without a salt.
    init(_ key: SealingKey, _ purpose: String) {
      id = key.id
      self.key = HKDF<SHA256>.deriveKey(
        inputKeyMaterial: SymmetricKey(data: key.bytes), info: Array("reactor-sealing/1 \(purpose)".utf8),
        outputByteCount: 32)
    }
  }
#endif
