import Foundation
import ReactorCore
import TestSupport
import Testing

@testable import ReactorMiddleware

/// Only the state machine: what it returns for each event.
@Suite struct `The refresh of a credential` {
  private typealias Machine = CredentialRefresh<String>

  /// The actions in words, but for notifications.
  private func text(_ actions: [Machine.Action]) -> [String] {
    actions.compactMap { action in
      switch action {
      case .refresh(let credential, let number): "refresh \(number) of \(credential)"
      case .cancelRefresh: "cancel"
      case .save, .announce: nil
      case .resume(let ids, .success(let held)): "resume \(ids) with \(held.credential)"
      case .resume(let ids, .failure(let error)): "fail \(ids) with \(error)"
      }
    }
  }

  /// The actions that tell others, in words.
  private func told(_ actions: [Machine.Action]) -> [String] {
    actions.compactMap { action in
      switch action {
      case .save(let credential): "save \(credential ?? "nothing")"
      case .announce: "announce"
      default: nil
      }
    }
  }

  @Test func `a new credential is saved, and none that comes after a sign-out`() {
    var machine = Machine("a")
    _ = machine.wait(1, refused: 0)
    #expect(told(machine.ended(.success("b"), of: 1)) == ["save b"])
    #expect(told(machine.signIn("c")) == ["save c", "announce"])
    _ = machine.wait(2, refused: 2)
    #expect(told(machine.signOut()) == ["save nothing"])
    #expect(told(machine.ended(.success("d"), of: 3)) == [])
    #expect(told(machine.signIn("e")) == ["save e", "announce"])
  }

  @Test func `a refresh is announced if it is the first to succeed after a refused one`() {
    var machine = Machine("a")
    var number: UInt64 = 0
    func end(_ result: Result<String, any Error>) -> [String] {
      number += 1
      _ = machine.wait(1, refused: machine.look.version, failed: machine.look.failed)
      return told(machine.ended(result, of: number))
    }
    #expect(end(.failure(Broken())) == [])
    #expect(end(.success("b")) == ["save b"])
    #expect(end(.failure(ReactorError.authentication(Broken()))) == [])
    #expect(end(.failure(Broken())) == [])
    #expect(end(.success("c")) == ["save c", "announce"])
    #expect(end(.success("d")) == ["save d"])
  }

  @Test func `the refresh of a credential begins with the first that is refused, and the others wait for it`() {
    var machine = Machine("a")
    #expect(machine.look.usable?.credential == "a")
    #expect(text(machine.wait(1, refused: 0)) == ["refresh 1 of a"])
    #expect(machine.look.usable == nil)
    #expect(text(machine.wait(2, refused: 0)) == [])
    #expect(text(machine.wait(3, refused: machine.look.version)) == [])
    #expect(text(machine.ended(.success("b"), of: 1)) == ["resume [1, 2, 3] with b"])
    #expect(machine.look.usable?.credential == "b")
  }

  @Test func `a failed refresh fails all its waiters, and leaves the credential unchanged`() {
    var machine = Machine("a")
    _ = machine.wait(1, refused: 0)
    _ = machine.wait(2, refused: 0)
    #expect(text(machine.ended(.failure(Broken()), of: 1)) == ["fail [1, 2] with Broken()"])
    #expect(machine.look.usable?.credential == "a")
    #expect(text(machine.wait(3, refused: 0, failed: machine.look.failed)) == ["refresh 2 of a"])
  }

  @Test func `a failed refresh fails earlier requests whose 401 comes later`() {
    var machine = Machine("a")
    let look = machine.look
    _ = machine.wait(1, refused: 0)
    let waiting = machine.look
    _ = machine.ended(.failure(Broken()), of: 1)
    #expect(text(machine.wait(2, refused: look.version, failed: look.failed)) == ["fail [2] with Broken()"])
    #expect(text(machine.wait(3, refused: waiting.version, failed: waiting.failed)) == ["fail [3] with Broken()"])
    #expect(text(machine.wait(4, refused: 0, failed: machine.look.failed)) == ["refresh 2 of a"])
    _ = machine.ended(.success("b"), of: 2)
    #expect(text(machine.wait(5, refused: look.version, failed: look.failed)) == ["resume [5] with b"])
  }

  @Test func `the refresh of a credential ends with a sign-out, and what it brings is dropped`() {
    var machine = Machine("a")
    let held = machine.look.usable
    _ = machine.wait(1, refused: 0)
    #expect(text(machine.signOut()) == ["cancel", "fail [1] with cancelled"])
    #expect(held.map { machine.permits($0) } == false)
    #expect(text(machine.ended(.success("b"), of: 1)) == [])
    #expect(machine.look.usable == nil)
    #expect(
      text(machine.wait(2, refused: 0)).first?.hasPrefix("fail [2] with signing in failed: the user is signed out")
        == true)
    #expect(text(machine.signOut()) == [])
    #expect(text(machine.signIn("c")) == [])
    #expect(machine.look.usable.map { machine.permits($0) } == true)
    #expect(text(machine.wait(3, refused: 0)) == ["resume [3] with c"])
    #expect(text(machine.wait(4, refused: machine.look.version)) == ["refresh 5 of c"])
  }

  @Test func `a sign-in ends the refresh, and its credential serves the waiting requests`() {
    var machine = Machine("a")
    _ = machine.wait(1, refused: 0)
    #expect(text(machine.signIn("b")) == ["cancel", "resume [1] with b"])
    #expect(text(machine.ended(.success("late"), of: 1)) == [])
    #expect(machine.look.usable?.credential == "b")
  }

  @Test func `a request that was refused with an older credential needs no refresh`() {
    var machine = Machine("a")
    _ = machine.wait(1, refused: 0)
    _ = machine.ended(.success("b"), of: 1)
    #expect(text(machine.wait(2, refused: 0)) == ["resume [2] with b"])
    #expect(text(machine.wait(4, refused: 1)) == ["refresh 2 of b"])
    // The credential that it would get is known to be refused too.
    #expect(text(machine.wait(5, refused: 0)) == [])
  }

  @Test func `a refresh continues without waiters, and its credential is used`() {
    var machine = Machine("a")
    _ = machine.wait(1, refused: 0)
    _ = machine.wait(2, refused: 0)
    // The view of a request that begins meanwhile.
    let look = machine.look
    #expect(text(machine.leave(1)) == ["fail [1] with CancellationError()"])
    #expect(text(machine.leave(1)) == [])
    #expect(text(machine.leave(2)) == ["fail [2] with CancellationError()"])
    #expect(text(machine.wait(3, refused: look.version, failed: look.failed)) == [])
    _ = machine.leave(3)
    #expect(text(machine.ended(.success("b"), of: 1)) == [])
    #expect(machine.look.usable?.credential == "b")
  }

  @Test func `a refresh that fails without waiters leaves the credential unchanged`() {
    var machine = Machine("a")
    _ = machine.wait(1, refused: 0)
    _ = machine.leave(1)
    #expect(text(machine.ended(.failure(Broken()), of: 1)) == [])
    #expect(machine.look.usable?.credential == "a")
    #expect(text(machine.wait(2, refused: 0, failed: machine.look.failed)) == ["refresh 2 of a"])
  }

  @Test func `an early refresh begins once, and requests that get a 401 meanwhile wait for it`() {
    var machine = Machine("a")
    let look = machine.look
    #expect(text(machine.refreshEarly(look.version, failed: look.failed)) == ["refresh 1 of a"])
    #expect(text(machine.refreshEarly(look.version, failed: look.failed)) == [])
    #expect(machine.look.isRefreshing && !machine.look.isRefused && machine.look.held?.credential == "a")
    #expect(text(machine.wait(1, refused: look.version)) == [])
    #expect(machine.look.isRefused)
    #expect(text(machine.ended(.success("b"), of: 1)) == ["resume [1] with b"])
    #expect(!machine.look.isRefused)
    // The view is old by now.
    #expect(text(machine.refreshEarly(look.version, failed: look.failed)) == [])
  }

  @Test func `an early refresh that failed does not begin again for requests that began before`() {
    var machine = Machine("a")
    let look = machine.look
    _ = machine.refreshEarly(look.version, failed: look.failed)
    #expect(text(machine.ended(.failure(Broken()), of: 1)) == [])
    #expect(text(machine.refreshEarly(look.version, failed: look.failed)) == [])
    #expect(text(machine.refreshEarly(look.version, failed: machine.look.failed)) == ["refresh 2 of a"])
  }

  @Test func `a sign-in and a sign-out cancel an early refresh`() {
    var machine = Machine("a")
    _ = machine.refreshEarly(0, failed: 0)
    #expect(text(machine.signIn("b")) == ["cancel"])
    #expect(text(machine.ended(.success("late"), of: 1)) == [])
    #expect(machine.look.usable?.credential == "b")
    let look = machine.look
    _ = machine.refreshEarly(look.version, failed: look.failed)
    #expect(text(machine.signOut()) == ["cancel"])
    #expect(text(machine.ended(.success("late"), of: 3)) == [])
    #expect(machine.look.held == nil)
  }
}

/// The decision whether a request waits for a refresh or goes on with the present credential.
@Suite struct `The term of a credential` {
  private let now = Date(timeIntervalSince1970: 1_000)
  private var term: CredentialTerm { CredentialTerm(due: now, end: now + 60) }

  private func use(_ seconds: Double, isRefreshing: Bool = false, isRefused: Bool = false, hasFailed: Bool = false)
    -> CredentialTerm.Use
  {
    term.use(at: now + seconds, isRefreshing: isRefreshing, isRefused: isRefused, hasFailed: hasFailed)
  }

  @Test func `a credential is used, then refreshed early, and awaited once it has expired`() {
    #expect(use(-1) == .sign && use(0) == .signAndRefresh && use(59) == .signAndRefresh && use(60) == .awaitRefresh)
  }

  @Test func `requests use a valid credential during a refresh, unless the server has refused it`() {
    #expect(use(59, isRefreshing: true) == .sign)
    #expect(use(60, isRefreshing: true) == .awaitRefresh)
    #expect(use(59, isRefreshing: true, isRefused: true) == .awaitRefresh)
    #expect(use(-1, isRefreshing: true, isRefused: true) == .awaitRefresh)
  }

  @Test func `an early refresh that failed is repeated when the credential expires`() {
    #expect(use(59, hasFailed: true) == .sign && use(60, hasFailed: true) == .awaitRefresh)
    #expect(use(59, isRefused: true, hasFailed: true) == .sign)
  }

  @Test func `without an expiry, requests wait for any refresh under way`() {
    let term = CredentialTerm()
    #expect(term.use(at: now, isRefreshing: false, isRefused: false, hasFailed: false) == .sign)
    #expect(term.use(at: now, isRefreshing: true, isRefused: false, hasFailed: false) == .awaitRefresh)
  }
}

extension CredentialRefresh.Look {
  /// The credential of a request that has no term.
  var usable: CredentialRefresh.Held? { isRefreshing ? nil : held }
}

extension CredentialRefresh {
  /// Of a request that went by no failure.
  fileprivate mutating func wait(_ id: WaiterID, refused: UInt64) -> [Action] { wait(id, refused: refused, failed: 0) }
}
