import ReactorCore
import Synchronization

/// The layers of the users that were seen last, by their tokens.
///
/// The account API checks the tokens. A token that it refuses has an empty layer here, until newer
/// ones replace it.
final class Users: Sendable {
  struct User: Sendable {
    let layer: ModelLayer
    let accounts: Reactor<Account>
  }

  private struct State {
    var users: [String: (user: User, lastUse: UInt64)] = [:]
    var uses: UInt64 = 0
    var made = 0
  }

  private let state = Mutex(State())
  private let limit: Int
  private let make: @Sendable (_ token: String, _ number: Int) -> ModelLayer

  /// - Parameters:
  ///   - limit: the number of users; the least recently seen users are forgotten.
  ///   - make: returns the layer of a token. Layers are numbered from 1.
  init(limit: Int, _ make: @escaping @Sendable (_ token: String, _ number: Int) -> ModelLayer) {
    self.limit = limit
    self.make = make
  }

  var count: Int { state.withLock { $0.users.count } }

  func user(_ token: String) -> User {
    let (known, number) = state.withLock { state in
      state.uses += 1
      if let known = state.users[token] {
        state.users[token]?.lastUse = state.uses
        return (known.user as User?, 0)
      }
      state.made += 1
      return (nil, state.made)
    }
    if let known { return known }
    let layer = make(token, number)
    let user = User(layer: layer, accounts: layer.reactor(Account.self))
    return state.withLock { state in
      // Of two requests that come together, the first one's.
      if let known = state.users[token] { return known.user }
      state.users[token] = (user, state.uses)
      // Removes many at once, since each search examines all.
      if state.users.count > limit {
        let oldest = state.users.sorted { $0.value.lastUse < $1.value.lastUse }.prefix(max(1, limit / 10))
        for (token, _) in oldest { state.users[token] = nil }
      }
      return user
    }
  }
}
