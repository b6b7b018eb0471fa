#if Sealing
  import Crypto
  import Foundation
  import HTTPCaching
  import Testing

  @testable import ReactorSealing

  private func bytes(_ hex: String) -> [UInt8] {
    stride(from: 0, to: hex.count, by: 2).compactMap { UInt8(hex.dropFirst($0).prefix(2), radix: 16) }
  }

  private func hex(_ bytes: some Sequence<UInt8>) -> String { StoreKeys.hex(bytes) }

  /// The expected bytes were computed by another program: Python's `cryptography` and `hmac`.
  @Suite struct `The bytes of sealed data` {
    private let key: SealingKey
    private let store: StoreKeys
    private let nonce: AES.GCM.Nonce

    init() throws {
      key = try #require(SealingKey(bytes: 0..<32))
      store = StoreKeys(try #require(SealingKey(bytes: 32..<64)))
      nonce = try AES.GCM.Nonce(data: bytes("cafebabefacedbaddecaf888"))
    }

    @Test func `are a header, the nonce, the ciphertext and the tag`() throws {
      let sealed = try SealFormat.seal(
        Array("Reactor".utf8), .entry, at: [Array("scope".utf8), Array("entry".utf8), []],
        with: DerivedKey(key, "seal"), nonce: nonce)
      #expect(
        hex(sealed) == "52534541" + "01" + "03" + "441bfb9f4ee64a4f" + "cafebabefacedbaddecaf888" + "9c9628dcae9aa4"
          + "f99d614ccb2b939f2d2bb72f319d411d")
      #expect(sealed.count == SealFormat.overhead + 7)
    }

    /// Test case 16 of McGrew and Viega, *The Galois/Counter Mode of Operation*. The tag differs,
    /// since our associated data begin with the header.
    @Test func `have the ciphertext of the known vectors of AES-256-GCM`() throws {
      let key = DerivedKey(
        id: self.key.id,
        key: SymmetricKey(data: bytes(String(repeating: "feffe9928665731c6d6a8f9467308308", count: 2))))
      let content = bytes(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
          + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
      )
      let sealed = try SealFormat.seal(content, .record, at: [], with: key, nonce: nonce)
      #expect(
        hex(sealed.dropFirst(26).dropLast(16))
          == "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
          + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
      )
      #expect(try SealFormat.open(sealed, .record, at: [], "it") { _ in key } == Data(content))
    }

    @Test func `have names that are HMACs under the key of the store`() throws {
      let key = RecordKey(method: .get, url: "https://api.example.com/articles", scope: "ada")
      let scope = store.scope("ada")
      let name = try #require(store.key(key, in: scope))
      #expect(store.id.description == "8aa0e63b53b8e2bc")
      #expect(scope.name == "cc2ccc0fe2364700f968f47d4cf0b6d4")
      #expect(name.url == "sealed:f05f99e23e845ab0ad190e28979e2b60")
      #expect(
        name.identity
          == "reactor-key/1\n32\n\(scope.name)\nGET \(name.url)\n"
          + "body=e8c40380c22866f954f273c847e71c95cba087f0f84d70daee9548b631ab5751"
      )
    }

    @Test func `open nowhere but at their place, as their kind and whole`() throws {
      let key = DerivedKey(key, "seal")
      let sealed = try SealFormat.seal([UInt8](0..<40), .state, at: [[1], [2, 3]], with: key)
      func opens(_ sealed: Data, _ kind: SealFormat.Kind = .state, _ place: [[UInt8]] = [[1], [2, 3]]) -> Bool {
        (try? SealFormat.open(sealed, kind, at: place, "it") { id in
          guard id == key.id else { throw SealingError.missingKey(id, scope: .shared) }
          return key
        }) != nil
      }
      #expect(opens(sealed))
      for place in [[[1, 2], [3]], [[1], [2]], [[1]], [[2, 3], [1]], []] as [[[UInt8]]] {
        #expect(!opens(sealed, .state, place))
      }
      for kind in [.record, .summary, .entry, .identity, .label] as [SealFormat.Kind] { #expect(!opens(sealed, kind)) }
      for index in sealed.indices {
        for bit in 0..<8 {
          var changed = sealed
          changed[index] ^= 1 << bit
          #expect(!opens(changed), "byte \(index), bit \(bit)")
        }
      }
      for count in 0..<sealed.count { #expect(!opens(sealed.prefix(count)), "\(count) bytes") }
      #expect(!opens(sealed + [0]))
    }

    @Test func `have another nonce each time`() throws {
      let key = DerivedKey(key, "seal")
      let nonces = try (0..<10_000).map { _ in
        try SealFormat.seal([1], .state, at: [], with: key)[14..<26]
      }
      #expect(Set(nonces).count == 10_000)
    }
  }
#endif
