import Foundation
import Synchronization
import Testing

@testable import ReactorFlux

/// A store whose state is saved.
private final class Settings: PlainStore, Snapshotting {
  struct State: Codable, Equatable, Sendable {
    var values: [Int] = []
    var rate: Double?
  }

  let context = StoreContext()
  var snapshot = State()

  static let handlers: [ActionHandler<Settings>] = [
    .on(.go) { store, action in
      store.snapshot.values.append(action.payload ?? 0)
      store.emitChange()
    },
    .on(.next) { store, _ in
      // JSON has no such number.
      store.snapshot.rate = .infinity
      store.emitChange()
    },
  ]
}

/// One launch of a program after the other, over one directory.
@MainActor @Suite(.timeLimit(.minutes(5))) final class `A persisted store` {
  fileprivate typealias Migration = (Int, [UInt8]) throws -> Settings.State

  private let directory = FileManager.default.temporaryDirectory.appending(path: "reactor-\(UUID().uuidString)/stores")
  private let encodings = Mutex(0)
  private var dispatcher = Dispatcher()
  private var persistence: StorePersistence?
  private var reports: Reports?

  deinit { try? FileManager.default.removeItem(at: directory.deletingLastPathComponent()) }

  private var file: URL { directory.appending(path: "settings.state") }
  private var files: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: directory.path(percentEncoded: false)).sorted()) ?? []
  }
  private var state: Settings.State { get throws { try dispatcher.store(Settings.self).snapshot } }

  private func launch(
    version: Int = 1, delay: Duration = .seconds(3600), migrate: Migration? = nil
  ) throws {
    dispatcher = Dispatcher()
    reports = Reports(of: dispatcher)
    let persistence = StorePersistence(
      directory: directory.path(percentEncoded: false), delay: delay,
      encode: { [self] in
        encodings.withLock { $0 += 1 }
        return try JSONEncoder().encode($0)
      },
      decode: { try JSONDecoder().decode($0, from: Data($1)) })
    self.persistence = persistence
    try dispatcher.register(Settings.self)
    try dispatcher.persist(Settings.self, as: "settings", version: version, with: persistence, migrate: migrate)
  }

  /// Dispatches the numbers, and ends the launch.
  private func run(_ numbers: Int...) async {
    for number in numbers { dispatcher.dispatch(.go, number) }
    await persistence?.flush()
  }

  @Test func `a persisted store has its state again at the next launch, before the first action`() async throws {
    try launch()
    #expect(try state == Settings.State())
    await run(1, 2)
    try launch()
    #expect(try state.values == [1, 2])
    await run(3)
    try launch()
    #expect(try state.values == [1, 2, 3])
    #expect(reports?.errors.isEmpty == true)
    #expect(files == ["settings.state"])
  }

  /// Registers the store, changes it, and only then has it restored.
  private func launchLate() throws {
    dispatcher = Dispatcher()
    reports = Reports(of: dispatcher)
    let persistence = StorePersistence(
      directory: directory.path(percentEncoded: false), delay: .seconds(3600),
      encode: { try JSONEncoder().encode($0) }, decode: { try JSONDecoder().decode($0, from: Data($1)) })
    self.persistence = persistence
    try dispatcher.register(Settings.self)
    dispatcher.dispatch(.go, 7)
    try dispatcher.persist(Settings.self, as: "settings", with: persistence)
  }

  @Test func `a change before the restoration is reported, and replaced by the saved state`() async throws {
    try launch()
    await run(1)
    try launchLate()
    #expect(try state.values == [1])
    guard case .stateReplaced("settings")? = reports?.errors.first else {
      Issue.record("\(String(describing: reports?.errors))")
      return
    }
    #expect(reports?.errors.count == 1)
  }

  @Test func `a persisted store saves a change from before, where nothing was saved`() async throws {
    try launchLate()
    #expect(try state.values == [7])
    await persistence?.flush()
    try launch()
    #expect(try state.values == [7] && reports?.errors.isEmpty == true)
  }

  @Test func `a persisted store is saved once for many changes, and not if nothing has changed`() async throws {
    try launch()
    await persistence?.flush()
    #expect(files == [])
    for number in 1...100 { dispatcher.dispatch(.go, number) }
    #expect(encodings.withLock(\.self) == 0)
    await persistence?.flush()
    #expect(encodings.withLock(\.self) == 1)
    try launch()
    #expect(try state.values.count == 100)
    await persistence?.flush()
    #expect(encodings.withLock(\.self) == 1)
  }

  @Test func `a persisted store is saved after the delay by itself`() async throws {
    try launch(delay: .zero)
    dispatcher.dispatch(.go, 1)
    // The writer's task ends once it has saved: no time passes in the test.
    await persistence?.settled()
    try launch()
    #expect(try state.values == [1])
  }

  @Test func `a restored state is notified, and not saved again`() async throws {
    try launch()
    await run(1)
    let fresh = Dispatcher()
    try fresh.register(Settings.self)
    let owner = Owner()
    var seen: [[Int]] = []
    try fresh.store(Settings.self).observe(owner) { store, _ in seen.append(store.snapshot.values) }
    let again = StorePersistence(
      directory: directory.path(percentEncoded: false), encode: { try JSONEncoder().encode($0) },
      decode: { try JSONDecoder().decode($0, from: Data($1)) })
    try fresh.persist(Settings.self, as: "settings", with: again)
    #expect(seen == [[1]])
    let before = try FileManager.default.attributesOfItem(atPath: file.path(percentEncoded: false))
    await again.flush()
    let after = try FileManager.default.attributesOfItem(atPath: file.path(percentEncoded: false))
    // A save replaces the file by a new one.
    #expect(before[.systemFileNumber] as? Int == after[.systemFileNumber] as? Int)
  }

  @Test func `a saved state of an older version is migrated, and saved in the new one`() async throws {
    try launch()
    await run(1)
    var asked: [Int] = []
    try launch(version: 3) { version, bytes in
      asked.append(version)
      var state = try JSONDecoder().decode(Settings.State.self, from: Data(bytes))
      state.values.append(30)
      return state
    }
    #expect(try state.values == [1, 30])
    await persistence?.flush()
    try launch(version: 3) { version, _ in
      asked.append(version)
      return Settings.State()
    }
    #expect(try state.values == [1, 30])
    #expect(asked == [1])
  }

  @Test(arguments: [true, false]) func `a saved state that cannot be migrated is set aside`(hasMigration: Bool)
    async throws
  {
    try launch()
    await run(1)
    let old = try Data(contentsOf: file)
    try launch(version: 2, migrate: hasMigration ? { _, _ in throw Refused() } : nil)
    #expect(try state == Settings.State())
    #expect(files == ["settings.state.damaged"])
    #expect(try Data(contentsOf: directory.appending(path: "settings.state.damaged")) == old)
    guard case .stateSetAside("settings", let aside, _)? = reports?.errors.first else {
      Issue.record("\(reports?.lines ?? [])")
      return
    }
    #expect(aside.hasSuffix("settings.state.damaged"))
  }

  @Test func `a saved state of a later version is set aside, and the program begins again`() async throws {
    try launch(version: 7)
    await run(1)
    try launch(version: 2)
    #expect(try state == Settings.State())
    guard case .stateTooNew("settings", 7, 2, let aside)? = reports?.errors.first else {
      Issue.record("\(reports?.lines ?? [])")
      return
    }
    #expect(aside.hasSuffix("settings.state.version-7"))
    await run(2)
    #expect(files == ["settings.state", "settings.state.version-7"])
  }

  @Test(arguments: ["empty", "cut", "changed", "longer", "text"]) func `a damaged state is set aside, and not lost`(
    damage: String
  ) async throws {
    for round in 1...2 {
      try launch()
      await run(1)
      var bytes = try Data(contentsOf: file)
      switch damage {
      case "empty": bytes = Data()
      case "cut": bytes.removeLast()
      case "changed": bytes[bytes.count - 3] ^= 1
      case "longer": bytes.append(0)
      default: bytes = Data("hello\n".utf8)
      }
      try bytes.write(to: file)
      try launch()
      #expect(try state == Settings.State())
      #expect(reports?.errors.count == 1)
      #expect(files.count == round)
      let aside = "settings.state.damaged" + (round == 1 ? "" : "-2")
      #expect(try Data(contentsOf: directory.appending(path: aside)) == bytes)
    }
  }

  @Test func `a persisted store whose file cannot be read is not overwritten`() async throws {
    try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
    try launch()
    guard case .stateNotReadable("settings", _, _)? = reports?.errors.first else {
      Issue.record("\(reports?.lines ?? [])")
      return
    }
    await run(1)
    #expect(await persistence?.saveAll() == false)
    #expect(files == ["settings.state"])
    #expect(reports?.errors.count == 1)
  }

  @Test func `a state that cannot be encoded keeps its old file, and the next change tries again`() async throws {
    try launch()
    await run(1)
    dispatcher.dispatch(.next, 0)
    await persistence?.flush()
    guard case .stateNotSaved("settings", _)? = reports?.errors.first else {
      Issue.record("\(reports?.lines ?? [])")
      return
    }
    try launch()
    #expect(try state.values == [1])
    await run(2)
    try launch()
    #expect(try state.values == [1, 2])
  }

  @Test func `a state that could not be saved is saved by the next flush, even if unchanged`() async throws {
    // A file is where the directory belongs.
    try FileManager.default.createDirectory(
      at: directory.deletingLastPathComponent(), withIntermediateDirectories: true)
    #expect(FileManager.default.createFile(atPath: directory.path(percentEncoded: false), contents: Data()))
    try launch()
    let before = reports?.errors.count ?? 0
    await run(1)
    guard case .stateNotSaved("settings", _)? = reports?.errors.last else {
      Issue.record("\(reports?.lines ?? [])")
      return
    }
    #expect(reports?.errors.count == before + 1)
    try FileManager.default.removeItem(at: directory)
    await persistence?.flush()
    #expect(reports?.errors.count == before + 1)
    try launch()
    #expect(try state.values == [1])
  }

  @Test func `every persisted store is saved on demand, and one that is gone is not said to be`() async throws {
    try launch()
    #expect(await persistence?.saveAll() == true)
    #expect(files == ["settings.state"] && encodings.withLock(\.self) == 1)
    try launch()
    #expect(await persistence?.saveAll() == true)
    #expect(encodings.withLock(\.self) == 2)
    let last = persistence
    (dispatcher, persistence, reports) = (Dispatcher(), nil, nil)
    #expect(await last?.saveAll() == false)
  }

  @Test func `a persistence is released with its dispatcher`() throws {
    try launch()
    weak let released = persistence
    (dispatcher, persistence, reports) = (Dispatcher(), nil, nil)
    #expect(released == nil)
  }

  @Test func `a persisted store has its own name, which may have any characters`() throws {
    try launch()
    let persistence = try #require(persistence)
    try dispatcher.register(Ledgerless.self)
    expect(.nameInUse("settings")) { try dispatcher.persist(Ledgerless.self, as: "settings", with: persistence) }
    try dispatcher.persist(Ledgerless.self, as: "../Ö/.", with: persistence)
    #expect(StateFile(directory: "/a", name: "../Ö/.").path == "/a/%2e%2e%2f%c3%96%2f%2e.state")
  }

  @Test func `a persisted store cannot begin within a handler, or before it is registered`() throws {
    try launch()
    let persistence = try #require(persistence)
    _ = try dispatcher.probe(A.self) { [dispatcher] _, _ in
      try dispatcher.register(Ledgerless.self)
      expect(.busy) { try dispatcher.persist(Ledgerless.self, as: "late", with: persistence) }
    }
    expect(.notRegistered(store: name(Ledgerless.self))) {
      try dispatcher.persist(Ledgerless.self, as: "late", with: persistence)
    }
    dispatcher.dispatch(.go, 1)
    try dispatcher.persist(Ledgerless.self, as: "late", with: persistence)
  }

  @Test func `a changed store that is released with its dispatcher is still saved`() async throws {
    try launch()
    dispatcher.dispatch(.go, 1)
    weak let store = try dispatcher.store(Settings.self)
    let last = persistence
    (dispatcher, persistence, reports) = (Dispatcher(), nil, nil)
    await last?.flush()
    #expect(store == nil)
    try launch()
    #expect(try state.values == [1])
  }
}

private final class Ledgerless: PlainStore, Snapshotting {
  let context = StoreContext()
  var snapshot = 0
  static let handlers: [ActionHandler<Ledgerless>] = []
}
