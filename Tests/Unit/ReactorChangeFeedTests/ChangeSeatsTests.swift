import ReactorTesting
import Testing

@testable import ReactorChangeFeed

@Suite("The clients of a feed") struct ChangeSeatsTests {
  private let ada = ChangeAudience("user:ada")
  private let grace = ChangeAudience("user:grace")

  /// Two clients of Ada and one of Grace, who all wait.
  private func waiting() -> (seats: ChangeSeats<String>, ids: [UInt64]) {
    var seats = ChangeSeats<String>()
    let ids = [ada, ada, grace].map { seats.add([$0], at: .zero) {} }
    for (id, name) in zip(ids, ["a", "b", "c"]) { _ = seats.wait(id, name, until: .seconds(15)) }
    return (seats, ids)
  }

  @Test func `a change for one user wakes only the clients of this user`() {
    var (seats, _) = waiting()
    let woken = seats.wake(ada)
    #expect(Set(woken) == ["a", "b"])
    #expect(seats.waiting == 1 && seats.count == 3)
    let nobody = seats.wake(ChangeAudience("user:nobody"))
    let rest = seats.wake(.everyone)
    #expect(nobody.isEmpty && rest == ["c"])
  }

  @Test func `only the clients whose heartbeat is due are woken by the clock`() {
    var (seats, ids) = waiting()
    _ = seats.wake(ids[1])
    _ = seats.wait(ids[1], "b", until: .seconds(10))
    let due = [9, 10, 15].map { seats.wakeDue(at: .seconds($0)).sorted() }
    #expect(due == [[], ["b"], ["a", "c"]])
  }

  @Test func `the clients of a user are counted until they are removed`() {
    var (seats, ids) = waiting()
    #expect(seats.count(of: ada) == 2)
    let first = seats.remove(ids[0])
    #expect(first == "a" && seats.count(of: ada) == 1)
    let second = seats.removeAll(of: ada)
    #expect(second == ["b"] && seats.count(of: ada) == 0 && seats.count == 1 && !seats.contains(ids[1]))
    let third = seats.removeAll(of: .everyone)
    let again = seats.remove(ids[2])
    #expect(third == ["c"] && again == nil)
  }

  @Test func `a client that does not take its piece is removed in time, and a waiting client stays`() {
    var seats = ChangeSeats<String>()
    let told = Shared<[String]>([])
    let slow = seats.add([ada], at: .zero) { told.change { $0.append("slow") } }
    let idle = seats.add([grace], at: .zero) { told.change { $0.append("idle") } }
    let waits = seats.wait(idle, "c", until: .seconds(15))
    seats.give(slow, at: .seconds(5))
    let early = seats.removeStalled(at: .seconds(34), patience: .seconds(30))
    #expect(waits && early.isEmpty)
    for onStall in seats.removeStalled(at: .seconds(35), patience: .seconds(30)) { onStall() }
    #expect(told.value == ["slow"])
    #expect(!seats.contains(slow) && seats.contains(idle))
  }

  @Test func `a second reader of one stream does not wait`() {
    var (seats, ids) = waiting()
    let waits = [ids[0], 99].map { seats.wait($0, "another", until: .zero) }
    #expect(waits == [false, false])
  }
}
