import TestSupport
import Testing

@testable import ReactorCore

/// Only the state machine: what it returns for each event.
@Suite struct `The refresh of a credential` {
  private typealias Machine = CredentialRefresh<String>

  /// An action in words.
  private func text(_ actions: [Machine.Action]) -> [String] {
    actions.map { action in
      switch action {
      case .refresh(let credential, let number): "refresh \(number) of \(credential)"
      case .cancelRefresh: "cancel"
      case .resume(let ids, .success(let held)): "resume \(ids) with \(held.credential)"
      case .resume(let ids, .failure(let error)): "fail \(ids) with \(error)"
      }
    }
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

  @Test func `the refresh of a credential fails all who wait, and leaves the credential as it was`() {
    var machine = Machine("a")
    _ = machine.wait(1, refused: 0)
    _ = machine.wait(2, refused: 0)
    #expect(text(machine.ended(.failure(Broken()), of: 1)) == ["fail [1, 2] with Broken()"])
    #expect(machine.look.usable?.credential == "a")
    #expect(text(machine.wait(3, refused: 0, failed: machine.look.failed)) == ["refresh 2 of a"])
  }

  @Test func `that has failed was for those too who were asked before and are refused later`() {
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

  @Test func `a refresh begins again for a request that arrived after the last waiter left`() {
    var machine = Machine("a")
    _ = machine.wait(1, refused: 0)
    // The view of a request that begins meanwhile.
    let look = machine.look
    _ = machine.leave(1)
    #expect(look.usable == nil)
    #expect(text(machine.wait(2, refused: look.version, failed: look.failed)) == ["refresh 2 of a"])
  }

  @Test func `the refresh of a credential continues while somebody waits, and is cancelled with the last`() {
    var machine = Machine("a")
    _ = machine.wait(1, refused: 0)
    _ = machine.wait(2, refused: 0)
    #expect(text(machine.leave(1)) == ["fail [1] with CancellationError()"])
    #expect(text(machine.leave(1)) == [])
    #expect(text(machine.leave(2)) == ["cancel", "fail [2] with CancellationError()"])
    #expect(text(machine.ended(.failure(CancellationError()), of: 1)) == [])
    #expect(machine.look.usable?.credential == "a")
  }

  @Test func `the refresh of a credential that was cancelled and succeeds all the same is used`() {
    var machine = Machine("a")
    _ = machine.wait(1, refused: 0)
    _ = machine.leave(1)
    #expect(text(machine.ended(.success("b"), of: 1)) == [])
    #expect(machine.look.usable?.credential == "b")
  }

  @Test func `the refresh of a credential that was cancelled and succeeds while another is under way ends that one`() {
    var machine = Machine("a")
    _ = machine.wait(1, refused: 0)
    _ = machine.leave(1)
    #expect(text(machine.wait(2, refused: 0)) == ["refresh 2 of a"])
    #expect(text(machine.ended(.success("b"), of: 1)) == ["cancel", "resume [2] with b"])
    #expect(text(machine.ended(.failure(CancellationError()), of: 2)) == [])
    #expect(machine.look.usable?.credential == "b")
  }

  @Test func `the refresh of a credential that comes after a later one is dropped`() {
    var machine = Machine("a")
    _ = machine.wait(1, refused: 0)
    _ = machine.leave(1)
    _ = machine.wait(2, refused: 0)
    #expect(text(machine.ended(.success("c"), of: 2)) == ["resume [2] with c"])
    #expect(text(machine.ended(.success("b"), of: 1)) == [])
    #expect(machine.look.usable?.credential == "c")
  }

  @Test func `a cancelled refresh that fails does not fail the waiters of another`() {
    var machine = Machine("a")
    _ = machine.wait(1, refused: 0)
    _ = machine.leave(1)
    _ = machine.wait(2, refused: 0)
    #expect(text(machine.ended(.failure(Broken()), of: 1)) == [])
    #expect(text(machine.ended(.success("c"), of: 2)) == ["resume [2] with c"])
  }
}

extension CredentialRefresh {
  /// Of a request that went by no failure.
  fileprivate mutating func wait(_ id: WaiterID, refused: UInt64) -> [Action] { wait(id, refused: refused, failed: 0) }
}
