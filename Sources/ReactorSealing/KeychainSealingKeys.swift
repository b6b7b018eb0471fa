#if canImport(Security)
  import Foundation
  public import HTTPCaching
  import Security

  /// Keys in the Keychain of an Apple system.
  ///
  /// ```swift
  /// let keys = KeychainSealingKeys(service: "com.example.news", accessGroup: "ABCDE12345.news")
  /// ```
  ///
  /// The first use creates a key. A key can be read after the device was unlocked for the
  /// first time, and leaves the device in no backup. An app and its extensions share keys through
  /// an access group; only one of them may rotate.
  public struct KeychainSealingKeys: RotatingSealingKeys {
    private let service: String
    private let accessGroup: String?

    /// Creates a provider. Nothing is read or written yet.
    ///
    /// - Parameters:
    ///   - service: The `kSecAttrService` of the items.
    ///   - accessGroup: The `kSecAttrAccessGroup` of the items. Default: `nil`, the app's own.
    public init(service: String, accessGroup: String? = nil) {
      self.service = service
      self.accessGroup = accessGroup
    }

    /// Returns the key of the store, and creates it if it does not exist.
    ///
    /// - Throws: ``SealingError/keychain(_:)``, ``SealingError/invalidKeys(_:)``.
    public func storeKey() throws -> SealingKey { try keys(in: "store").current }

    /// Returns the keys of a scope, and creates the first if it does not exist.
    ///
    /// - Throws: ``SealingError/keychain(_:)``, ``SealingError/invalidKeys(_:)``.
    public func keys(of scope: Scope) throws -> SealingKeys { try keys(in: Self.account(of: scope)) }

    /// Adds a random key, which is the current one from now on.
    ///
    /// - Throws: ``SealingError/keychain(_:)``, ``SealingError/invalidKeys(_:)``.
    @discardableResult public func addKey(of scope: Scope) throws -> SealingKey {
      let keys = try keys(of: scope)
      let key = SealingKey()
      try replace([key, keys.current] + keys.older, in: Self.account(of: scope))
      return key
    }

    /// Removes every key of `scope` but the current one.
    ///
    /// - Throws: ``SealingError/otherCurrentKey(_:scope:)`` if that is not `key`,
    ///   ``SealingError/keychain(_:)``, ``SealingError/invalidKeys(_:)``.
    public func removeOlderKeys(of scope: Scope, keeping key: SealingKey.ID) throws {
      let current = try keys(of: scope).current
      guard current.id == key else { throw SealingError.otherCurrentKey(current.id, scope: scope) }
      try replace([current], in: Self.account(of: scope))
    }

    /// Removes all keys of `scope`.
    ///
    /// - Throws: ``SealingError/keychain(_:)``.
    public func removeKeys(of scope: Scope) throws {
      let status = SecItemDelete(query(Self.account(of: scope)) as CFDictionary)
      guard status == errSecSuccess || status == errSecItemNotFound else { throw SealingError.keychain(status) }
    }

    private static func account(of scope: Scope) -> String { "scope \(scope.name)" }

    private func query(_ account: String) -> [String: Any] {
      var query: [String: Any] = [
        kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
        kSecAttrAccount as String: account, kSecUseDataProtectionKeychain as String: true,
      ]
      if let accessGroup { query[kSecAttrAccessGroup as String] = accessGroup }
      return query
    }

    private func keys(in account: String) throws -> SealingKeys {
      if let keys = try read(account) { return keys }
      var item = query(account)
      item[kSecValueData as String] = Data(SealingKey().bytes)
      item[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
      let status = SecItemAdd(item as CFDictionary, nil)
      // Another process may have been first; both read what is there.
      guard status == errSecSuccess || status == errSecDuplicateItem else { throw SealingError.keychain(status) }
      guard let keys = try read(account) else { throw SealingError.keychain(errSecItemNotFound) }
      return keys
    }

    private func read(_ account: String) throws -> SealingKeys? {
      var item = query(account)
      item[kSecReturnData as String] = true
      var result: CFTypeRef?
      let status = SecItemCopyMatching(item as CFDictionary, &result)
      guard status != errSecItemNotFound else { return nil }
      guard status == errSecSuccess else { throw SealingError.keychain(status) }
      let bytes = [UInt8](result as? Data ?? Data())
      let keys = stride(from: 0, to: bytes.count, by: SealingKey.byteCount).map {
        SealingKey(bytes: bytes[$0...].prefix(SealingKey.byteCount))
      }
      guard let current = keys.first ?? nil, !keys.contains(nil) else {
        throw SealingError.invalidKeys("the Keychain item \(service)")
      }
      return SealingKeys(current: current, older: keys.dropFirst().compactMap(\.self))
    }

    private func replace(_ keys: [SealingKey], in account: String) throws {
      let data = Data(keys.flatMap(\.bytes))
      let status = SecItemUpdate(
        query(account) as CFDictionary, [kSecValueData as String: data] as CFDictionary)
      guard status == errSecSuccess else { throw SealingError.keychain(status) }
    }
  }
#endif
