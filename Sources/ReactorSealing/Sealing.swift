#if Sealing
  import Foundation
  import HTTPCaching
  import Synchronization

  /// Seals what an app stores, with AES-256-GCM and a key for each scope.
  ///
  /// ```swift
  /// let sealing = Sealing(keys: FileSealingKeys(directory: keys))
  /// let layer = ModelLayer(
  ///   baseURL: api, persistence: SealedPersistence(FilePersistence(directory: records), sealing:
  ///   sealing))
  /// ```
  ///
  /// ``SealedPersistence``, ``SealedOutboxStorage`` and `StorePersistence` of ReactorFlux take the
  /// same object. The object reads the keys of a scope when they are first needed, and keeps them
  /// in memory. <doc:SealedAtRest> says what that protects against, and what it does not.
  public final class Sealing: Sendable {
    private struct State {
      var store: StoreKeys?
      var scopes: [Scope: ScopeKeys] = [:]
      /// The scopes by their names in stores.
      var named: [Scope: Scope] = [:]
      /// The number of reads that have begun, by any scope.
      var reads = 0
      /// The numbers of the reads that ``scopes`` are of.
      var read: [Scope: Int] = [:]
      /// The number of reads that had begun at the latest ``Sealing/reload()``.
      var forgotten = 0

      mutating func beginRead() -> Int {
        reads += 1
        return reads
      }
    }

    private let provider: any SealingKeyProvider
    private let state = Mutex(State())

    /// Creates an object without reading a key.
    public init(keys: any SealingKeyProvider) { provider = keys }

    /// Forgets the keys, so that the next use reads them again. Call it after the keys have
    /// changed.
    public func reload() {
      state.withLock { state in
        let reads = state.reads
        state = State()
        (state.reads, state.forgotten) = (reads, reads)
      }
    }

    /// Returns the keys of the store, from the provider if need be.
    func store() throws -> StoreKeys {
      if let store = state.withLock({ $0.store }) { return store }
      let number = state.withLock { $0.beginRead() }
      let store = StoreKeys(try provider.storeKey())
      state.withLock { if number > $0.forgotten { $0.store = store } }
      return store
    }

    /// Returns the keys of a scope. Keys of an earlier read never replace those of a later one.
    ///
    /// - Parameter isRead: Pass `true` to read them from the provider again.
    func keys(of scope: Scope, read isRead: Bool = false) throws -> ScopeKeys {
      if !isRead, let keys = state.withLock({ $0.scopes[scope] }) { return keys }
      let number = state.withLock { $0.beginRead() }
      let keys = try ScopeKeys(try provider.keys(of: scope), of: scope, in: try store())
      state.withLock { state in
        guard number > state.forgotten, number > state.read[scope, default: 0] else { return }
        state.read[scope] = number
        state.scopes[scope] = keys
        state.named[keys.name] = scope
      }
      return keys
    }

    /// Returns the key that has sealed something of a scope. An unknown one may be of another
    /// process, so the provider is asked again.
    func key(_ id: SealingKey.ID, of scope: Scope) throws -> DerivedKey {
      if let key = try keys(of: scope)[id] ?? keys(of: scope, read: true)[id] { return key }
      throw SealingError.missingKey(id, scope: scope)
    }

    /// Returns the scope that has a name in stores.
    func scope(named name: Scope, _ label: Data) throws -> Scope {
      if let scope = state.withLock({ $0.named[name] }) { return scope }
      let scope = try store().scope(of: label, named: name)
      state.withLock { $0.named[name] = scope }
      return scope
    }
  }
#endif
