import Foundation
import Hummingbird

struct User: Codable, Hashable, Sendable, Identifiable {
  var id: String
  var name: String
}

struct Session: Codable, Sendable, ResponseEncodable {
  var access: String
  var refresh: String
  /// In seconds.
  var expiresIn: Double
  var user: User
}

/// Signed-in users and their tokens. A refresh token is valid for one refresh (RFC 9700 §4.14).
final class Sessions: Sendable {
  private let archive: NewsArchive
  private let lifetime: Duration
  private let now: @Sendable () -> Date

  static let users = [User(id: "ada-1815", name: "Ada Lovelace"), User(id: "grace-1906", name: "Grace Hopper")]
  static let password = "reactor"

  init(archive: NewsArchive, lifetime: Duration, now: @escaping @Sendable () -> Date) {
    self.archive = archive
    self.lifetime = lifetime
    self.now = now
  }

  /// - Parameter name: a user's first name.
  func signIn(_ name: String, password: String) throws -> Session? {
    let user = Self.users.first { $0.name.prefix { $0 != " " }.lowercased() == name.lowercased() }
    guard let user, password == Self.password else { return nil }
    return try archive.change { session(for: user, &$0) }
  }

  func refresh(_ token: String) throws -> Session? {
    try archive.change { state in
      guard let user = state.refresh.removeValue(forKey: token) else { return nil }
      state.access = state.access.filter { $0.value.refresh != token }
      return session(for: user, &state)
    }
  }

  func signOut(_ access: String) throws {
    try archive.change { state in
      guard let refresh = state.access.removeValue(forKey: access)?.refresh else { return }
      state.refresh[refresh] = nil
    }
  }

  /// `nil` for a token that is not known, or has expired.
  func access(of token: String) -> NewsState.Access? {
    let now = now()
    return archive.read { state in state.access[token].flatMap { $0.expires > now ? $0 : nil } }
  }

  /// Every access token expires; the refresh tokens stay good.
  func expireTokens() throws {
    try archive.change { state in
      for token in state.access.keys { state.access[token]?.expires = .distantPast }
    }
  }

  private func session(for user: User, _ state: inout NewsState) -> Session {
    let seconds = lifetime / .seconds(1)
    let session = Session(access: UUID().uuidString, refresh: UUID().uuidString, expiresIn: seconds, user: user)
    state.access[session.access] = NewsState.Access(user: user, expires: now() + seconds, refresh: session.refresh)
    state.refresh[session.refresh] = user
    return session
  }
}
