public import Foundation
public import HTTPCaching

/// An error of a ``Sealing``. Whatever it is about stays in the store.
@nonexhaustive public enum SealingError: Error, Sendable, Hashable {
  /// The provider does not have a key that has sealed data of the scope.
  case missingKey(SealingKey.ID, scope: Scope)
  /// The current key of the scope is not the one to keep, but this one. Run the pass again.
  case otherCurrentKey(SealingKey.ID, scope: Scope)
  /// The store was sealed under another ``SealingKeyProvider/storeKey()``.
  case wrongStoreKey(stored: SealingKey.ID, given: SealingKey.ID)
  /// The data were changed after they were sealed, or were moved from another place. The text names
  /// them.
  case altered(String)
  /// The data were never sealed, or are cut off. The text names them.
  case notSealed(String)
  /// A newer release sealed the data, in this format.
  case newerFormat(UInt8)
  /// The file or the variable with that name does not have valid keys.
  case invalidKeys(String)
  /// Other users may read the file of keys.
  case exposedKeys(path: String)
  /// The Keychain has failed with this `OSStatus`.
  case keychain(Int32)
}

extension SealingError: CustomStringConvertible, LocalizedError {
  /// A sentence with the failure and, if known, a remedy.
  public var description: String {
    switch self {
    case .missingKey(let id, let scope):
      "data of the scope \(scope) are sealed with the key \(id), which the provider does not have; give the key back, or remove the data with removeAll(in:)"
    case .otherCurrentKey(let id, let scope):
      "the current key of the scope \(scope) is now \(id), and no key was removed; seal again with it first"
    case .wrongStoreKey(let stored, let given):
      "the store is sealed under the store key \(stored), and the provider has \(given); give the right key back, or empty the store with removeAll(in: nil)"
    case .altered(let what): "\(what) was changed after it was sealed, or belongs elsewhere; it is not used"
    case .notSealed(let what): "\(what) is not sealed, or cut off; it is not used"
    case .newerFormat(let format): "a newer release sealed this, in format \(format); update this program"
    case .invalidKeys(let place): "\(place) does not have keys of 32 bytes in Base64; restore it from a copy"
    case .exposedKeys(let path): "other users may read the keys in \(path); run chmod 600 on it, and rotate the keys"
    case .keychain(let status):
      "the Keychain answered \(status); try again once the device is unlocked, and check the access group"
    }
  }

  public var errorDescription: String? { description }
}
