#if Sealing
  import Foundation
  import HTTPCaching
  import ReactorSealing
  import Synchronization

  /// Keys in memory, which a test changes.
  final class TestKeys: RotatingSealingKeys {
    struct Locked: Error {}

    private struct State {
      var store = SealingKey()
      var keys: [Scope: SealingKeys] = [:]
      var isLocked = false
    }

    private let state = Mutex(State())

    var isLocked: Bool {
      get { state.withLock { $0.isLocked } }
      set { state.withLock { $0.isLocked = newValue } }
    }
    var store: SealingKey {
      get { state.withLock { $0.store } }
      set { state.withLock { $0.store = newValue } }
    }
    subscript(scope: Scope) -> SealingKeys {
      get {
        state.withLock { state in
          let keys = state.keys[scope] ?? SealingKeys(current: SealingKey())
          state.keys[scope] = keys
          return keys
        }
      }
      set { state.withLock { $0.keys[scope] = newValue } }
    }

    func storeKey() throws -> SealingKey {
      guard !isLocked else { throw Locked() }
      return store
    }

    func keys(of scope: Scope) throws -> SealingKeys {
      guard !isLocked else { throw Locked() }
      return self[scope]
    }

    @discardableResult func addKey(of scope: Scope) throws -> SealingKey {
      let (keys, key) = (self[scope], SealingKey())
      self[scope] = SealingKeys(current: key, older: [keys.current] + keys.older)
      return key
    }

    func removeOlderKeys(of scope: Scope, keeping key: SealingKey.ID) throws {
      let current = self[scope].current.id
      guard current == key else { throw SealingError.otherCurrentKey(current, scope: scope) }
      self[scope].older = []
    }
    func removeKeys(of scope: Scope) throws { self[scope] = SealingKeys(current: SealingKey()) }
  }

  /// Returns the error of the module that `body` throws.
  func sealingError(_ body: () async throws -> Void) async -> SealingError? {
    do { try await body() } catch { return error as? SealingError }
    return nil
  }

  extension SealingError {
    var isAltered: Bool {
      switch self {
      case .altered, .notSealed, .newerFormat: true
      default: false
      }
    }
    var isMissingKey: Bool { if case .missingKey = self { true } else { false } }
    var isWrongStoreKey: Bool { if case .wrongStoreKey = self { true } else { false } }
  }
#endif
