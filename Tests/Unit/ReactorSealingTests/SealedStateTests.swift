#if Sealing
  import Foundation
  import HTTPCaching
  import ReactorFlux
  import Testing

  @testable import ReactorSealing

  private final class Settings: PlainStore, Snapshotting {
    let context = StoreContext()
    var snapshot: [String] = []

    static let handlers: [ActionHandler<Settings>] = [
      .on(.note) { store, action in
        store.snapshot.append(action.payload ?? "")
        store.emitChange()
      }
    ]
  }

  extension Event where Payload == String {
    fileprivate static let note = Event("note")
  }

  /// One launch of a program after the other, over one directory.
  @MainActor @Suite(.timeLimit(.minutes(5))) final class `A sealed state` {
    private let directory = FileManager.default.temporaryDirectory.appending(path: "reactor-\(UUID().uuidString)")
    private let keys = TestKeys()
    private var failures: [FluxError] = []
    private var dispatcher = Dispatcher()
    private var persistence: StorePersistence?
    private var sealing: Sealing?

    deinit { try? FileManager.default.removeItem(at: directory) }

    private func file(_ name: String = "settings") -> URL { directory.appending(path: "\(name).state") }
    private var names: [String] {
      get throws { try FileManager.default.contentsOfDirectory(atPath: directory.path(percentEncoded: false)).sorted() }
    }

    @discardableResult private func launch(_ name: String = "settings", note: String? = nil) async throws -> [String] {
      dispatcher = Dispatcher()
      failures = []
      dispatcher.onFailure = { [weak self] in self?.failures.append($0) }
      let sealing = Sealing(keys: keys)
      let persistence = StorePersistence(
        directory: directory.path(percentEncoded: false), sealing: sealing, scope: "ada",
        delay: .seconds(3600), encode: { try JSONEncoder().encode($0) },
        decode: { try JSONDecoder().decode($0, from: Data($1)) })
      (self.sealing, self.persistence) = (sealing, persistence)
      try dispatcher.register(Settings.self)
      try dispatcher.persist(Settings.self, as: name, with: persistence)
      if let note { dispatcher.dispatch(.note, note) }
      await persistence.flush()
      return try dispatcher.store(Settings.self).snapshot
    }

    @Test func `is restored, and its file has nothing readable`() async throws {
      try await launch(note: "private")
      #expect(try await launch() == ["private"])
      #expect(failures.isEmpty)
      #expect(try Data(contentsOf: file()).range(of: Data("private".utf8)) == nil)
    }

    @Test func `stays in its file while its key is missing, and is not overwritten`() async throws {
      try await launch(note: "one")
      let before = try Data(contentsOf: file())
      let right = keys["ada"]
      keys["ada"] = SealingKeys(current: SealingKey())
      #expect(try await launch(note: "two") == ["two"])
      guard case .stateNotReadable("settings", _, let error) = failures.first else {
        Issue.record("\(failures)")
        return
      }
      #expect(error as? SealingError == .missingKey(right.current.id, scope: "ada"))
      #expect(await persistence?.saveAll() == false)
      keys.isLocked = true
      try await launch(note: "three")
      keys.isLocked = false
      #expect(try Data(contentsOf: file()) == before)
      #expect(try names == ["settings.state"])
      keys["ada"] = right
      #expect(try await launch() == ["one"])
    }

    @Test func `is sealed with the new key when it is restored`() async throws {
      try await launch(note: "one")
      try keys.addKey(of: "ada")
      #expect(try await launch() == ["one"])
      try keys.removeOlderKeys(of: "ada", keeping: keys["ada"].current.id)
      #expect(try await launch() == ["one"])
      #expect(failures.isEmpty)
    }

    @Test func `is sealed with the new key when all are saved, though it has not changed`() async throws {
      try await launch(note: "one")
      let key = try keys.addKey(of: "ada").id
      sealing?.reload()
      #expect(await persistence?.saveAll() == true)
      try keys.removeOlderKeys(of: "ada", keeping: key)
      #expect(try await launch() == ["one"])
      #expect(failures.isEmpty)
    }

    @Test func `is not taken for damaged under another key of the store`() async throws {
      try await launch(note: "one")
      keys.store = SealingKey()
      #expect(try await launch() == ["one"])
      #expect(failures.isEmpty)
      #expect(try names == ["settings.state"])
    }

    @Test func `is set aside where it was changed, was never sealed, or is another store's`() async throws {
      try await launch(note: "one")
      try await launch("other", note: "two")
      try FileManager.default.removeItem(at: file())
      try FileManager.default.copyItem(at: file("other"), to: file())
      #expect(try await launch() == [])
      guard case .stateSetAside("settings", _, _) = failures.first else {
        Issue.record("\(failures)")
        return
      }
      #expect(try names.contains("settings.state.damaged"))
      let plain = StorePersistence(
        directory: directory.path(percentEncoded: false), encode: { try JSONEncoder().encode($0) },
        decode: { try JSONDecoder().decode($0, from: Data($1)) })
      let dispatcher = Dispatcher()
      try dispatcher.register(Settings.self)
      try dispatcher.persist(Settings.self, as: "plain", with: plain)
      dispatcher.dispatch(.note, "plain")
      await plain.flush()
      #expect(try await launch("plain") == [])
      #expect(try names.contains("plain.state.damaged"))
    }
  }
#endif
