public import Foundation
public import ReactorCore
public import ReactorFlux
public import ReactorInspector
import ReactorMiddleware
import ReactorOutbox
import ReactorSQLite

/// One person's news: a model layer for the signed-in user, and the stores that the app owns.
///
/// After a restart, the user is still signed in, and unsent writes are still there.
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
  private let outbox: SQLiteOutboxStorage
  private let power: any ReactorConfiguration.PowerSaving
  private let directory: URL
  private let inspector: Inspector?
  private var signedIn: SignedIn?
  /// Brings the reading list from the model layer to its store.
  private var following: Task<Void, Never>?

  /// The session of the user who is signed in.
  private struct SignedIn {
    let user: User
    let authentication: AuthenticationMiddleware<NewsAuthenticator>
    let saved: SavedSession
  }

  /// - Parameters:
  ///   - directory: where `news.sqlite`, `outbox.sqlite` and the session are, or will be.
  ///   - offline: while it is on, nothing is sent.
  ///   - inspector: shows every user's layer, and the stores.
  public init(
    api: URL, directory: URL, power: any ReactorConfiguration.PowerSaving = ReactorConfiguration.SystemPowerSaving(),
    offline: Switch = Switch(),
    inspector: Inspector? = nil
  ) throws {
    let path = { (name: String) in directory.appending(path: name).path(percentEncoded: false) }
    backend = Backend(
      baseURL: api, transport: URLSessionTransport(timeout: .seconds(15)), userAgent: "Newsroom/1.0",
      middlewares: [OfflineMiddleware(offline: offline)])
    persistence = try SQLitePersistence(path: path("news.sqlite"))
    outbox = try SQLiteOutboxStorage(path: path("outbox.sqlite"))
    self.power = power
    self.directory = directory
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
    inspector?.show(dispatcher, values: .shown { store, field in store == "SelectionStore" && field == "article" })
    resume()
  }

  deinit { following?.cancel() }

  /// Signs in a user, or the current one again after the session is over. ``SessionStore`` has the
  /// result.
  public func signIn(name: String, password: String) async {
    let credentials = guest.credentials
    await dispatcher.dispatch(.signedIn) {
      let credential = try await credentials.send(.signIn(name: name, password: password))
      try await self.begin(credential, saved: SavedSession(directory: self.directory))
      return credential.user
    }
  }

  /// Signs in who was signed in when the reader ended.
  private func resume() {
    let saved = SavedSession(directory: directory)
    guard let credential = saved.credential(), (try? begin(credential, saved: saved)) != nil else { return }
    dispatcher.dispatch(.signedIn, credential.user)
  }

  /// - Throws: ``SomebodyElse``. One person's, at a time.
  private func begin(_ credential: Credential, saved: SavedSession) throws {
    if let signedIn {
      guard signedIn.user == credential.user else { throw SomebodyElse(user: signedIn.user) }
      signedIn.saved.save(credential)
      // The outbox sends the writes that waited for the sign-in.
      return signedIn.authentication.signIn(credential)
    }
    saved.save(credential)
    let authentication = AuthenticationMiddleware(
      NewsAuthenticator(credentials: guest.credentials, saved: saved), credential: credential,
      origins: [backend.baseURL])
    var backend = backend
    backend.authentication = authentication
    let model = NewsModel(
      backend: backend, persistence: persistence, outbox: outbox, scope: Scope(credential.user.id), power: power)
    self.model = model
    signedIn = SignedIn(user: credential.user, authentication: authentication, saved: saved)
    inspector?.show(model.layer)
    following?.cancel()
    following = Task { [dispatcher] in
      for await state in model.readingList.states(for: .readingList) {
        if let list = state.value { dispatcher.dispatch(.readingListChanged, list) }
      }
    }
  }

  /// Stops requests in flight, so that the next start can send them at once.
  public func stop() async { await model.layer.outbox.stop() }

  /// Nothing of the user is left, here or on disk, when it returns.
  ///
  /// Waiting writes are sent now, for two seconds at most.
  ///
  /// - Parameter discardsUnsent: removes the rest, too.
  /// - Throws: ``UnsentChanges`` if there is a rest, and the user is signed in as before;
  ///   `ReactorError.persistence` where the disk could not be cleared.
  public func signOut(discardsUnsent: Bool = false) async throws {
    let user = model
    if !discardsUnsent {
      await user.layer.outbox.drain(within: .seconds(2))
      let count = try await user.layer.outbox.reload().count
      guard count == 0 else { throw UnsentChanges(count: count) }
    }
    // Somebody may have signed out meanwhile.
    guard user.layer === model.layer else { return }
    let saved = signedIn?.saved
    model = guest
    signedIn = nil
    following?.cancel()
    dispatcher.dispatch(.signedOut)
    // The API forgets the tokens, if it can be reached; they expire anyway.
    try? await user.layer.send(.signOut)
    saved?.end()
    try await user.layer.signOut()
  }
}

/// Another user is signed in.
public struct SomebodyElse: Error {
  public let user: User
}

/// The user has unsent writes, and would lose them.
public struct UnsentChanges: Error {
  public let count: Int
}
