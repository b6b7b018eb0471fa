#if Sealing
  import Crypto
  import Foundation
  import HTTPCaching

  /// The keys that are derived from the key of a store, and the names under them.
  struct StoreKeys: Sendable {
    let id: SealingKey.ID
    let secretKey: RecordKey.SecretKey?
    private let names: SymmetricKey
    private let labels: DerivedKey

    init(_ key: SealingKey) {
      id = key.id
      names = DerivedKey(key, "names").key
      labels = DerivedKey(key, "labels")
      secretKey = DerivedKey(key, "secrets").key.withUnsafeBytes { RecordKey.SecretKey(bytes: Array($0)) }
    }

    /// Returns the name that stands for a scope: 128 bits of an HMAC.
    func scope(_ scope: Scope) -> Scope { Scope(name("scope", scope.name, count: 16)) }

    /// Returns the name that stands for a URL. It is the same in each scope, since an index by URL
    /// is over all scopes.
    func url(_ url: String) -> String { Self.urlPrefix + name("url", url, count: 16) }

    /// Returns the key that stands for another. The keys of one URL have one URL.
    func key(_ key: RecordKey, in scope: Scope) -> RecordKey? {
      Self.key(scope, url(key.url), digest: name("key", key.identity, count: 32))
    }

    static let urlPrefix = "sealed:"

    static func key(_ scope: Scope, _ url: String, digest: String) -> RecordKey? {
      RecordKey(identity: "reactor-key/1\n\(scope.name.utf8.count)\n\(scope.name)\nGET \(url)\nbody=\(digest)")
    }

    /// Returns the HMAC-SHA256 of a text, in hexadecimal.
    private func name(_ purpose: String, _ text: String, count: Int) -> String {
      var hash = Crypto.HMAC<SHA256>(key: names)
      hash.update(data: Array(purpose.utf8) + [0])
      hash.update(data: Array(text.utf8))
      return Self.hex(hash.finalize().prefix(count))
    }

    static func hex(_ bytes: some Sequence<UInt8>) -> String {
      let digits = Array("0123456789abcdef".utf8)
      var text: [UInt8] = []
      for byte in bytes { text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
      return String(decoding: text, as: UTF8.self)
    }

    /// Returns the code that shows that bytes were written with this key.
    func code(of bytes: [UInt8]) -> [UInt8] {
      Array(Crypto.HMAC<SHA256>.authenticationCode(for: Array("card".utf8) + [0] + bytes, using: names))
    }

    /// Seals the name of a scope, for whoever lists all scopes.
    func label(of scope: Scope, named name: Scope) throws -> Data {
      try SealFormat.seal(Array(scope.name.utf8), .label, at: [Array(name.name.utf8)], with: labels)
    }

    /// Returns the scope of a label.
    func scope(of label: Data, named name: Scope) throws -> Scope {
      let bytes = try SealFormat.open(label, .label, at: [Array(name.name.utf8)], "the name of a scope") { id in
        guard id == labels.id else { throw SealingError.wrongStoreKey(stored: id, given: labels.id) }
        return labels
      }
      let scope = Scope(String(decoding: bytes, as: UTF8.self))
      guard self.scope(scope) == name else { throw SealingError.altered("the name of a scope") }
      return scope
    }
  }

  /// The derived keys of one scope.
  struct ScopeKeys: Sendable {
    let scope: Scope
    /// The name of the scope in stores.
    let name: Scope
    let current: DerivedKey
    let label: String
    private let all: [SealingKey.ID: DerivedKey]

    init(_ keys: SealingKeys, of scope: Scope, in store: StoreKeys) throws {
      self.scope = scope
      name = store.scope(scope)
      current = DerivedKey(keys.current, "seal")
      label = try store.label(of: scope, named: name).base64EncodedString()
      var all = [current.id: current]
      for key in keys.older where all[key.id] == nil { all[key.id] = DerivedKey(key, "seal") }
      self.all = all
    }

    var ids: Set<SealingKey.ID> { Set(all.keys) }
    subscript(id: SealingKey.ID) -> DerivedKey? { all[id] }
  }
#endif
