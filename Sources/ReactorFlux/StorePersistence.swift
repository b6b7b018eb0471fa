/// Saves the states of stores in files, so that the next launch continues with them.
///
/// ```swift
/// let persistence = StorePersistence(
///   directory: directory.path,
///   encode: { try JSONEncoder().encode($0) },
///   decode: { try JSONDecoder().decode($0, from: Data($1)) })
/// try dispatcher.register(Settings.self)
/// try dispatcher.persist(Settings.self, as: "settings", with: persistence)
/// ```
///
/// ``Dispatcher/persist(_:as:version:with:migrate:)`` restores a store and then saves it after each
/// change. Changes are saved together, `delay` after the first of them, in their order and off the
/// main actor. Call ``flush()`` before the program is suspended or exits.
///
/// A file is replaced in one step: after a crash, it has the old state or the new one. Use one
/// persistence for a directory, in one process.
@MainActor public final class StorePersistence {
  /// The seal of states on the disk, from ReactorSealing; `nil` without one.
  package struct Seal: Sendable {
    /// Returns the bytes to be stored of a state with a name and a version.
    package let seal: @Sendable (_ name: String, _ version: Int, _ state: [UInt8]) throws -> [UInt8]
    /// Returns the state in stored bytes, and `true` if it should be saved again. An error that is
    /// not ``Altered`` says that the state cannot be read now: its file stays as it is.
    package let open:
      @Sendable (_ name: String, _ version: Int, _ bytes: [UInt8]) throws -> (state: [UInt8], isOld: Bool)

    package init(
      seal: @escaping @Sendable (_ name: String, _ version: Int, _ state: [UInt8]) throws -> [UInt8],
      open:
        @escaping @Sendable (_ name: String, _ version: Int, _ bytes: [UInt8]) throws -> (state: [UInt8], isOld: Bool)
    ) {
      self.seal = seal
      self.open = open
    }

    /// Stored bytes that were changed or never sealed. Their file is set aside.
    package struct Altered: Error, CustomStringConvertible {
      package let description: String
      package init(_ description: String) { self.description = description }
    }
  }

  typealias Capture = @MainActor () -> Save

  /// A state to be written.
  struct Save: Sendable {
    let name: String
    let file: StateFile
    let version: Int
    let encode: @Sendable () throws -> [UInt8]
    let report: @MainActor @Sendable (FluxError) -> Void
  }

  private let directory: String
  private let delay: Duration
  private let clock: any Clock<Duration>
  let encode: @Sendable (any Encodable) throws -> [UInt8]
  let decode: @Sendable (any Decodable.Type, [UInt8]) throws -> any Decodable
  package var seal: Seal?
  private var names: Set<String> = []
  /// The captures of the persisted stores, by name. One returns `nil` once its store is gone.
  private var captures: [String: () -> Capture?] = [:]
  /// The changed stores, by name. Their states are read when they are saved.
  private var changed: [String: Capture] = [:]
  /// The stores whose last save has failed. They are saved with the next change, or by ``flush()``.
  private var unsaved: [String: Capture] = [:]
  /// The task that saves; `nil` while nothing has changed.
  private var writer: Task<Void, Never>?

  /// Creates a persistence. Nothing is read or written yet.
  ///
  /// - Parameters:
  ///   - directory: The path of the directory, which is created for the first save.
  ///   - delay: The time from the first change to the save. Later changes do not extend it.
  ///   - clock: The clock that measures `delay`.
  ///   - encode: A closure that encodes a state. It is called off the main actor.
  ///   - decode: A closure that decodes a state of that type.
  public init<Bytes: Collection<UInt8> & SendableMetatype>(
    directory: String, delay: Duration = .seconds(1), clock: any Clock<Duration> = ContinuousClock(),
    encode: @escaping @Sendable (any Encodable) throws -> Bytes,
    decode: @escaping @Sendable (any Decodable.Type, [UInt8]) throws -> any Decodable
  ) {
    self.directory = directory
    self.delay = delay
    self.clock = clock
    self.encode = { Array(try encode($0)) }
    self.decode = decode
  }

  /// Saves the changes without waiting for the delay, and returns when they are saved or have
  /// failed.
  ///
  /// ```swift
  /// await persistence.flush()
  /// ```
  ///
  /// A state whose last save has failed is saved again, though it has not changed since.
  public func flush() async {
    if !unsaved.isEmpty, writer == nil { write() }
    while let writer {
      // Cancels only the wait.
      writer.cancel()
      await writer.value
    }
  }

  /// Saves the state of each persisted store, whether it has changed or not, and returns when they
  /// are saved or have failed. A store whose file could not be read, or which is gone, is not
  /// saved.
  ///
  /// ```swift
  /// await persistence.saveAll()
  /// ```
  ///
  /// - Returns: `true` if the state of every store that was ever persisted with this object is
  ///   saved.
  @discardableResult public func saveAll() async -> Bool {
    var isSaved = true
    for name in names {
      if let capture = captures[name]?() { note(name, capture) } else { isSaved = false }
    }
    await flush()
    return isSaved && unsaved.isEmpty
  }

  /// Sets the closure that returns the capture of a store, for ``saveAll()``.
  func setCapture(of name: String, _ capture: @escaping () -> Capture?) { captures[name] = capture }

  /// Returns when nothing is left to save, after the delay.
  func settled() async {
    while let writer { await writer.value }
  }

  /// Returns the file of a name, which no other store has from now on.
  func claim(_ name: String) throws(FluxError) -> StateFile {
    guard names.insert(name).inserted else { throw .nameInUse(name) }
    return StateFile(directory: directory, name: name)
  }

  /// Records a change, to be saved after the delay.
  func note(_ name: String, _ capture: @escaping Capture) {
    changed[name] = capture
    if writer == nil { write() }
  }

  private func write() { writer = Task { await saveChanges() } }

  private func saveChanges() async {
    repeat {
      try? await clock.sleep(for: delay)
      let captures = unsaved.merging(changed) { $1 }
      (changed, unsaved) = ([:], [:])
      for (save, error) in await Self.perform(captures.sorted { $0.key < $1.key }.map { $0.value() }) {
        unsaved[save.name] = captures[save.name]
        save.report(.stateNotSaved(name: save.name, error))
      }
    } while !changed.isEmpty
    writer = nil
  }

  @concurrent private static func perform(_ saves: [Save]) async -> [(Save, any Error)] {
    saves.compactMap { save in
      do {
        try save.file.save(StateFile.Content(version: save.version, state: try save.encode()))
        return nil
      } catch {
        return (save, error)
      }
    }
  }
}

extension Dispatcher {
  /// Restores the state of a registered store from its file, notifies its observers, and saves the
  /// store after each change from now on.
  ///
  /// ```swift
  /// try dispatcher.register(Session.self)
  /// try dispatcher.persist(Session.self, as: "session", with: persistence)
  /// ```
  ///
  /// Call it after ``register(_:)``, before the first action: a saved state replaces what the store
  /// has changed before, and ``onFailure`` is called with ``FluxError/stateReplaced(name:)``. It
  /// reads the file at once, on the main actor. The dispatcher retains the persistence.
  ///
  /// A file that cannot be decoded or migrated, or has a later version, is renamed and not lost.
  /// The store then keeps its initial state. ``onFailure`` is called with the reason:
  /// ``FluxError/stateSetAside(name:file:_:)``,
  /// ``FluxError/stateTooNew(name:found:supported:file:)``,
  /// ``FluxError/stateNotReadable(name:file:_:)``, and later ``FluxError/stateNotSaved(name:_:)``.
  ///
  /// - Parameters:
  ///   - name: The name of the file, which must stay the same from one version of the program to
  ///   the next.
  ///   - version: The version of the state's encoded form. Increase it when an older state can no
  ///     longer be decoded.
  ///   - migrate: A closure that makes a state of an older version's encoded form. The result is
  ///     saved. With `nil`, an older state is set aside.
  /// - Throws: ``FluxError/notRegistered(store:)``, ``FluxError/nameInUse(_:)``, or
  ///   ``FluxError/busy`` within a handler or an observer.
  public func persist<S: Snapshotting>(
    _ store: S.Type, as name: String, version: Int = 1, with persistence: StorePersistence,
    migrate: ((_ version: Int, _ state: [UInt8]) throws -> S.Snapshot)? = nil
  ) throws(FluxError) where S.Snapshot: Codable {
    let registered = try self.store(store)
    guard !run.isBusy else { throw .busy }
    let file = try persistence.claim(name)
    let seal = persistence.seal
    let capture: @MainActor (S) -> StorePersistence.Capture = { [weak self, encode = persistence.encode] store in
      let report: @MainActor @Sendable (FluxError) -> Void = { self?.onFailure($0) }
      return {
        let snapshot = store.snapshot
        let bytes: @Sendable () throws -> [UInt8] = {
          let state = try encode(snapshot)
          return try seal?.seal(name, version, state) ?? state
        }
        return .init(name: name, file: file, version: version, encode: bytes, report: report)
      }
    }
    let save: @MainActor (S) -> Void = { persistence.note(name, capture($0)) }
    let found = FoundState<S.Snapshot>(in: file, name: name, version: version, seal, migrate) { state in
      guard let state = try persistence.decode(S.Snapshot.self, state) as? S.Snapshot else { throw StateFile.Damaged() }
      return state
    }
    let hasChanged = registered.context.hasChanged
    if let state = found.state { try restore(store, to: state) }
    if found.isSavable {
      registered.observe(registered) { store, _ in save(store) }
      persistence.setCapture(of: name) { [weak registered] in registered.map(capture) }
    }
    // Without a saved state, the changes so far are the first to be saved.
    if found.isMigrated || (hasChanged && found.state == nil && found.isSavable) { save(registered) }
    if hasChanged, found.state != nil { onFailure(.stateReplaced(name: name)) }
    if let failure = found.failure { onFailure(failure) }
  }
}

/// The outcome of reading a store's file.
private struct FoundState<State> {
  private(set) var state: State?
  private(set) var isMigrated = false
  private(set) var failure: FluxError?
  /// `false` if the file must not be replaced.
  private(set) var isSavable = true

  init(
    in file: StateFile, name: String, version: Int, _ seal: StorePersistence.Seal?,
    _ migrate: ((Int, [UInt8]) throws -> State)?,
    decode: ([UInt8]) throws -> State
  ) {
    do {
      guard let content = try file.load() else { return }
      guard content.version <= version else {
        setAside(file, name, as: "version-\(content.version)") {
          .stateTooNew(name: name, found: content.version, supported: version, file: $0)
        }
        return
      }
      let (bytes, isOld) = try Self.open(content, name, seal)
      if content.version == version {
        state = try decode(bytes)
        isMigrated = isOld
      } else {
        guard let migrate else { throw NoMigration(version: content.version) }
        state = try migrate(content.version, bytes)
        isMigrated = true
      }
    } catch let error as Unreadable {
      (failure, isSavable) = (.stateNotReadable(name: name, file: file.path, error.reason), false)
    } catch let error as StateFile.Refused {
      (failure, isSavable) = (.stateNotReadable(name: name, file: file.path, error), false)
    } catch {
      setAside(file, name, as: "damaged") { .stateSetAside(name: name, file: $0, error) }
    }
  }

  private static func open(
    _ content: StateFile.Content, _ name: String, _ seal: StorePersistence.Seal?
  ) throws -> (state: [UInt8], isOld: Bool) {
    guard let seal else { return (content.state, false) }
    do { return try seal.open(name, content.version, content.state) } catch {
      throw error is StorePersistence.Seal.Altered ? error : Unreadable(reason: error)
    }
  }

  private mutating func setAside(_ file: StateFile, _ name: String, as suffix: String, _ reason: (String) -> FluxError)
  {
    do {
      failure = reason(try file.setAside(as: suffix))
    } catch {
      (failure, isSavable) = (.stateNotReadable(name: name, file: file.path, error), false)
    }
  }
}

/// A seal that cannot be opened now.
private struct Unreadable: Error {
  let reason: any Error
}

/// A state of an older version, for which there is no migration.
private struct NoMigration: Error, CustomStringConvertible {
  let version: Int
  var description: String { "it has version \(version), and there is no migration" }
}
