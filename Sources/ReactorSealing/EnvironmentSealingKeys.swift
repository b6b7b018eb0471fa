public import Foundation
public import HTTPCaching

/// Keys in variables of the environment, for servers and containers.
///
/// ```swift
/// // NEWS_STORE_KEY="q7…="  NEWS_KEYS="xM…=,4s…="
/// let keys = try EnvironmentSealingKeys(store: "NEWS_STORE_KEY", keys: "NEWS_KEYS")
/// ```
///
/// The first variable has one key, the second one or several with commas between them, the current
/// one first. A key is 32 bytes in Base64: `head -c 32 /dev/urandom | base64`. The key of each
/// scope is derived from them. To rotate, put a new key in front of the second variable, restart,
/// reseal, and remove the old one with the next restart.
public struct EnvironmentSealingKeys: SealingKeyProvider {
  private let store: SealingKey
  private let masters: [SealingKey]

  /// Reads the keys.
  ///
  /// - Parameters:
  ///   - store: The name of the variable with the key of the store, which must never change.
  ///   - keys: The name of the variable with the other keys, the current one first.
  ///   - environment: The variables. Default: those of the process.
  /// - Throws: ``SealingError/invalidKeys(_:)``.
  public init(
    store: String, keys: String, environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws(SealingError) {
    guard let key = environment[store].flatMap({ SealingKey(base64: $0) }) else { throw .invalidKeys("$\(store)") }
    let masters = (environment[keys] ?? "").split(separator: ",", omittingEmptySubsequences: false)
      .map { SealingKey(base64: $0.trimmingCharacters(in: .whitespacesAndNewlines)) }
    guard !masters.contains(nil) else { throw .invalidKeys("$\(keys)") }
    self.store = key
    self.masters = masters.compactMap(\.self)
  }

  /// Returns the key of the store. Never throws.
  public func storeKey() -> SealingKey { store }

  /// Returns the keys of a scope: an HMAC of its name under each of the keys.
  ///
  /// - Throws: Never for a provider that could be created.
  public func keys(of scope: Scope) throws -> SealingKeys {
    let keys = masters.map { $0.derived(Array("reactor-sealing/1 scope".utf8) + [0] + Array(scope.name.utf8)) }
    guard let current = keys.first else { throw SealingError.invalidKeys("the environment") }
    return SealingKeys(current: current, older: Array(keys.dropFirst()))
  }
}
