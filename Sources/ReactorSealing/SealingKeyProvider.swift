public import HTTPCaching

/// The keys of one scope.
public struct SealingKeys: Sendable, Hashable {
  /// The key that seals.
  public var current: SealingKey
  /// The earlier keys, which only open what they have sealed.
  public var older: [SealingKey]

  /// Creates the keys of a scope.
  public init(current: SealingKey, older: [SealingKey] = []) {
    self.current = current
    self.older = older
  }
}

/// The place of the keys of a ``Sealing``.
///
/// ```swift
/// struct OwnKeys: SealingKeyProvider {
///   let store: SealingKey
///   let all: SealingKey
///   func storeKey() -> SealingKey { store }
///   func keys(of scope: Scope) -> SealingKeys { SealingKeys(current: all) }
/// }
/// ```
///
/// ``FileSealingKeys``, ``EnvironmentSealingKeys`` and `KeychainSealingKeys` are providers. A
/// ``Sealing`` calls the methods once for each scope, on any thread, and again after
/// ``Sealing/reload()`` or when it meets a key that it does not know.
public protocol SealingKeyProvider: Sendable {
  /// Returns the key of the whole store, under which the names of scopes, URLs and records are
  /// digested. The key seals no content, and must stay the same for as long as the store lasts.
  ///
  /// - Throws: An error if the key cannot be read now. Nothing is then read or written.
  func storeKey() throws -> SealingKey

  /// Returns the keys of `scope`.
  ///
  /// - Throws: An error if the keys cannot be read now. Nothing of the scope is then read or
  ///   written.
  func keys(of scope: Scope) throws -> SealingKeys
}

/// A provider that can change the keys of a scope.
public protocol RotatingSealingKeys: SealingKeyProvider {
  /// Adds a random key, which is the current one from now on.
  ///
  /// When the method returns, the key survives a power cut.
  ///
  /// - Returns: The new key.
  @discardableResult func addKey(of scope: Scope) throws -> SealingKey

  /// Removes every key of `scope` but the current one.
  ///
  /// Data that is still sealed with one of them can never be opened again.
  ///
  /// - Parameter key: The id of the current key, ``ResealReport/key``.
  /// - Throws: ``SealingError/otherCurrentKey(_:scope:)`` if the current key is another, and then
  ///   nothing is removed.
  func removeOlderKeys(of scope: Scope, keeping key: SealingKey.ID) throws

  /// Removes all keys of `scope`, for an owner who is gone. What they have sealed can never be
  /// opened again.
  func removeKeys(of scope: Scope) throws
}
