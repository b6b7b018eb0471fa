import Foundation
import Testing

@testable import ReactorFlux

private struct Person: Sendable, Equatable {
  var name: String
  var age = 1
  var accessToken = "s3cret"
}

private enum Mode: Sendable, Equatable {
  case idle, busy
  case editing(Person)
}

/// Not `Equatable`, as any state may be.
private struct Loose: Sendable {
  var number = 1
  var closure: @Sendable () -> Int = { 1 }
}

private final class Office: PlainStore, Snapshotting {
  struct State: Sendable {
    var user: Person?
    var people: [Person] = []
    var byRoom: [String: Person] = [:]
    var tags: Set<String> = []
    var mode = Mode.idle
    var link = URL(filePath: "/")
    var note = ""
    var password = ""
    var loose = Loose()
    var numbers: [Int] = []
  }

  let context = StoreContext()
  var snapshot = State()
  static let handlers: [ActionHandler<Office>] = [.on(.changed) { store, action in action.payload?(&store.snapshot) }]
}

extension Event where Payload == @Sendable (inout Office.State) -> Void {
  fileprivate static var changed: Event { Event("changed") }
}

/// The fields that an action has changed.
@MainActor @Suite struct `The differences of an action` {
  let dispatcher = Dispatcher()

  init() throws { try dispatcher.register(Office.self) }

  private func difference(
    _ visibility: StateVisibility = .all, _ change: @escaping @Sendable (inout Office.State) -> Void
  ) -> ActionDifference {
    ActionDifference(AnyAction(Action(.changed, change)), in: dispatcher, showing: visibility) {
      dispatcher.dispatch($0)
    }
  }

  private func lines(
    _ visibility: StateVisibility = .all, _ change: @escaping @Sendable (inout Office.State) -> Void
  ) -> [String] {
    difference(visibility, change).fields.map(\.description)
  }

  @Test func `the differences of an action are its fields, with the value before and after`() {
    #expect(lines { $0.note = "hello" } == [#"Office.note: "" → "hello""#])
    #expect(
      lines {
        $0.note = "bye"
        $0.loose.number = 2
      } == [#"Office.note: "hello" → "bye""#, "Office.loose.number: 1 → 2"])
    #expect(lines { $0.note = "bye" } == [])
    #expect(difference { $0.note = "x" }.description == "changed\n  Office.note: \"bye\" → \"x\"")
  }

  @Test func `a value that is set or cleared is listed by its fields`() {
    #expect(
      lines { $0.user = Person(name: "Ada") } == [
        #"Office.user.name: + "Ada""#, "Office.user.age: + 1", "Office.user.accessToken added",
      ])
    #expect(lines { $0.user?.age = 2 } == ["Office.user.age: 1 → 2"])
    #expect(lines { $0.user = nil }.contains(#"Office.user.name: − "Ada""#))
  }

  @Test func `an element that is inserted or removed is one difference, and the others are none`() {
    let ages: @Sendable (Int) -> Person = { Person(name: "P\($0)", age: $0) }
    _ = lines { $0.people = (0..<5).map(ages) }
    #expect(lines { $0.people.insert(ages(9), at: 1) }.first == #"Office.people[1].name: + "P9""#)
    #expect(lines { $0.people.remove(at: 1) }.first == #"Office.people[1].name: − "P9""#)
    #expect(lines { $0.people[3].age = 7 } == ["Office.people[3].age: 3 → 7"])
    #expect(difference(.hidden) { $0.people.append(ages(8)) }.fields.map(\.description) == ["Office.people[5] added"])
  }

  @Test func `entries of a dictionary and members of a set are found by their keys`() {
    _ = lines { $0.byRoom = ["a": Person(name: "Ada"), "b": Person(name: "Bob")] }
    #expect(lines { $0.byRoom["b"]?.age = 5 } == [#"Office.byRoom["b"].age: 1 → 5"#])
    #expect(lines { $0.byRoom["a"] = nil }.first == #"Office.byRoom["a"].name: − "Ada""#)
    #expect(lines { $0.tags = ["x"] } == [#"Office.tags["x"]: + "x""#])
  }

  @Test func `an enumeration is its case, and its associated value by its fields`() {
    #expect(lines { $0.mode = .busy } == ["Office.mode: idle → busy"])
    #expect(
      lines { $0.mode = .editing(Person(name: "Ada")) }
        == [
          "Office.mode: busy → editing(…)", #"Office.mode.editing.name: + "Ada""#, "Office.mode.editing.age: + 1",
          "Office.mode.editing.accessToken added",
        ])
    #expect(lines { $0.mode = .editing(Person(name: "Bob")) } == [#"Office.mode.editing.name: "Ada" → "Bob""#])
  }

  @Test func `no value is shown by default, nor of a field that is named like a secret, nor a URL's query`() {
    let all: @Sendable (inout Office.State) -> Void = {
      $0.user = Person(name: "s3cret")
      $0.people = [Person(name: "s3cret")]
      $0.byRoom["s3cret"] = Person(name: "s3cret")
      $0.tags.insert("s3cret")
      $0.mode = .editing(Person(name: "s3cret"))
      $0.note = "s3cret"
      $0.password = "s3cret"
    }
    let hidden = difference(.hidden, all)
    #expect(
      hidden.fields.map { "\($0.path) \($0.kind)" } == [
        "user added", "people[0] added", "byRoom[…] added", "tags[…] added", "mode changed", "note changed",
        "password changed",
      ])
    #expect(!"\(hidden)".contains("s3cret"))
    let secrets: @Sendable (inout Office.State) -> Void = {
      $0.user = Person(name: "Ada", accessToken: "s3cret2")
      $0.password = "s3cret2"
      $0.mode = .editing(Person(name: "Ada", accessToken: "s3cret2"))
      $0.link = URL(string: "https://example.com/a?signature=s3cret2") ?? $0.link
    }
    let shown = difference(.all, secrets)
    #expect(!"\(shown)".contains("s3cret2"))
    #expect("\(shown)".contains("https://example.com/a?…"))
    #expect("\(shown)".contains("Office.password changed"))
  }

  @Test func `values are shown of the fields that are named, without their indices`() {
    let names = StateVisibility.shown { store, field in store == "Office" && field == "people.name" }
    #expect(
      lines(names) { $0.people = [Person(name: "Ada")] } == [
        #"Office.people[0].name: + "Ada""#, "Office.people[0].age added", "Office.people[0].accessToken added",
      ])
  }

  @Test func `many differences are cut, and so is a long value`() {
    let many = difference { $0.numbers = Array(0..<60) }
    #expect(many.fields.count == ActionDifference.maximumFields && many.isCut)
    #expect(
      lines { $0.numbers = Array(0..<5_000) } == [
        "Office.numbers: 60 elements → 5000 elements"
      ])
    let long = difference { $0.note = String(repeating: "é", count: 200) }
    #expect(long.fields.first?.after?.count == 120 && !long.isCut)
  }

  @Test func `a store without a snapshot is compared by its stored properties`() throws {
    let dispatcher = Dispatcher()
    _ = try dispatcher.probe(A.self)
    var lines: [String] = []
    dispatcher.use(DifferenceLogger(showing: .all) { lines.append($0.description) })
    dispatcher.dispatch(.go, 4)
    dispatcher.dispatch(Event<Void>("nobody"))
    #expect(lines == ["go\n  Probe<A>.values[0]: + 4", "nobody"])
  }

  @Test func `each action has its own differences, also those that a handler dispatches`() throws {
    let dispatcher = try Dispatcher.ofLedger()
    var lines: [String] = []
    dispatcher.use(DifferenceLogger(showing: .all) { lines.append($0.description) })
    try dispatcher.store(Ledger.self).observe(dispatcher) { [weak dispatcher] ledger, _ in
      if ledger.state.lines.count == 1 { dispatcher?.dispatch(.noted, "next") }
    }
    dispatcher.dispatch(.noted, "first")
    #expect(lines == ["noted\n  Ledger.lines[0]: + \"first\"", "noted\n  Ledger.lines[1]: + \"next\""])
  }
}
