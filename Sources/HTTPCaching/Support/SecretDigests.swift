import Synchronization

/// Digests the secrets of one store's keys and records, under the store's ``SecretKey``.
///
/// Equal secrets of one store have equal digests, so two requests stay apart and one finds its
/// record again. Without the key, nobody can look up a short password by its digest.
package final class SecretDigests: Sendable {
  /// The beginning of a digest's text; 64 lower-case hexadecimal digits follow.
  static let prefix = "hmac-"
  /// The digests where there is no store.
  package static let ofProcess = SecretDigests(of: nil)

  private let persistence: (any Persistence)?
  /// `nil` before the first secret.
  private let key: Mutex<SecretKey?>

  /// - Parameter persistence: asked for its key when the first secret comes. Where it has none, the
  ///   process's is used.
  package init(of persistence: (any Persistence)?) {
    self.persistence = persistence
    key = Mutex(nil)
  }

  package init(_ key: SecretKey) {
    persistence = nil
    self.key = Mutex(key)
  }

  package func digest(_ secret: [UInt8]) -> [UInt8] {
    Array((Self.prefix + HMAC.hex(secret, key: storeKey().bytes)).utf8)
  }

  private func storeKey() -> SecretKey {
    if let key = key.withLock(\.self) { return key }
    // Not under the lock, since the store is anybody's code. Of two answers at once the first counts.
    let answer = persistence?.secretKey() ?? .ofProcess
    return key.withLock { key in
      let first = key ?? answer
      key = first
      return first
    }
  }
}
