public import Foundation
public import ReactorCore
public import ReactorFlux
public import ReactorInspector
import ReactorSQLite

/// One person's news: a model layer for whoever is signed in, and the stores that the app owns.
@MainActor
public final class NewsReader {
  /// Of the user who is signed in, or the guest's.
  public private(set) var model: NewsModel
  public let dispatcher = Dispatcher()
  public let session: SessionStore
  public let selection: SelectionStore
  public let readingList: ReadingListStore
  private let guest: NewsModel
  private let backend: Backend
  private let persistence: any Persistence
  private let power: any PowerSaving
  private let inspector: Inspector?
  /// Brings the reading list from the model layer to its store.
  private var following: Task<Void, Never>?

  /// - Parameters:
  ///   - directory: where `news.sqlite` is, or will be.
  ///   - inspector: shows every user's layer, and the stores.
  public init(
    api: URL, directory: URL, power: any PowerSaving = SystemPowerSaving(), inspector: Inspector? = nil
  ) throws {
    let path = directory.appending(path: "news.sqlite").path(percentEncoded: false)
    backend = Backend(
      baseURL: api, transport: URLSessionTransport(timeout: .seconds(15)), userAgent: "Newsroom/1.0")
    persistence = try SQLitePersistence(path: path)
    self.power = power
    self.inspector = inspector
    guest = NewsModel(backend: backend, persistence: persistence, scope: "guest", power: power)
    model = guest
    try dispatcher.register(SessionStore.self)
    try dispatcher.register(SelectionStore.self)
    try dispatcher.register(ReadingListStore.self)
    session = try dispatcher.store(SessionStore.self)
    selection = try dispatcher.store(SelectionStore.self)
    readingList = try dispatcher.store(ReadingListStore.self)
    inspector?.show(guest.layer)
    inspector?.show(dispatcher)
  }

  deinit { following?.cancel() }

  /// ``SessionStore`` tells how it went.
  public func signIn(name: String, password: String) async {
    let credentials = guest.credentials
    await dispatcher.dispatch(.signedIn) {
      let credential = try await credentials.send(.signIn(name: name, password: password))
      try await self.begin(credential)
      return credential.user
    }
  }

  private func begin(_ credential: Credential) async throws {
    // One person's, at a time.
    if model.layer !== guest.layer { try await signOut() }
    var backend = backend
    backend.authentication = AuthenticationMiddleware(
      NewsAuthenticator(credentials: guest.credentials), credential: credential, origins: [backend.baseURL])
    let model = NewsModel(
      backend: backend, persistence: persistence, scope: Scope(credential.user.id), power: power)
    self.model = model
    inspector?.show(model.layer)
    following?.cancel()
    following = Task { [dispatcher] in
      for await state in model.readingList.states(for: .readingList) {
        if let list = state.value { dispatcher.dispatch(.readingListChanged, list) }
      }
    }
  }

  /// Nothing of the user is left, here or on disk, when it returns.
  ///
  /// - Throws: `ReactorError.persistence` where the disk could not be cleared.
  public func signOut() async throws {
    let user = model
    model = guest
    following?.cancel()
    dispatcher.dispatch(.signedOut)
    // The API forgets the tokens, if it can be reached; they expire anyway.
    try? await user.layer.send(.signOut)
    try await user.layer.signOut()
  }
}
