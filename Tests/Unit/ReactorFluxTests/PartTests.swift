import ReactorFlux
import Testing

/// A store with two parts.
private final class Player: PlainStore {
  let context = StoreContext()
  var title = "A"
  var volume = 5

  static let handlers: [ActionHandler<Player>] = [
    .on(.go) { store, action in
      store.volume = action.payload ?? store.volume
      store.emitChange(error: action.error)
    }
  ]

  func change(title: String? = nil, volume: Int? = nil) {
    self.title = title ?? self.title
    self.volume = volume ?? self.volume
    emitChange()
  }
}

/// The observer of a part of a store.
@MainActor @Suite struct `An observer of a part` {
  private let player = Player()
  let trace = Trace()
  let owner = Owner()

  @Test func `an observer of a part is called with the present part at once`() {
    player.observe(owner, of: \.volume) { [trace, owner] given, volume in trace.add("\(volume) \(given === owner)") }
    #expect(trace.lines == ["5 true"])
  }

  @Test func `an observer of a part is called only if that part has changed`() {
    player.observe(owner, of: \.volume) { [trace] _, volume in trace.add("\(volume)") }
    player.change(title: "B")
    player.change(volume: 5)
    #expect(trace.lines == ["5"])
    player.change(title: "C", volume: 6)
    #expect(trace.lines == ["5", "6"])
  }

  @Test func `an observer of a part may wait for the first change`() {
    player.observe(owner, of: \.volume, initially: false) { [trace] _, volume in trace.add("\(volume)") }
    player.change(title: "B")
    #expect(trace.lines == [])
    player.change(volume: 6)
    #expect(trace.lines == ["6"])
  }

  @Test func `an observer of a part that begins within a handler misses no later change of it`() throws {
    let dispatcher = Dispatcher()
    try dispatcher.register(Player.self)
    let player = try dispatcher.store(Player.self)
    _ = try dispatcher.probe(A.self) { [trace, owner] _, _ in
      player.observe(owner, of: \.volume, id: "volume") { _, volume in trace.add("\(volume)") }
      player.change(volume: 9)
    }
    dispatcher.dispatch(.go, 7)
    #expect(trace.lines == ["7", "9"])
  }

  @Test func `an action of the first call is handled after it, and its change reaches the observer`() throws {
    let dispatcher = Dispatcher()
    try dispatcher.register(Player.self)
    try dispatcher.store(Player.self).observe(owner, of: \.volume) { [trace, dispatcher] _, volume in
      trace.add("\(volume)")
      if volume == 5 { dispatcher.dispatch(.go, 6) }
      trace.add("end \(volume)")
    }
    #expect(trace.lines == ["5", "end 5", "6", "end 6"])
  }

  @Test func `a stream of a part begins with the present one, skips equal ones and ends with the store`() async {
    var store: Player? = Player()
    let values = store?.values(of: \.volume)
    var iterator = values?.makeAsyncIterator()
    #expect(await iterator?.next() == 5)
    store?.change(title: "B")
    store?.change(volume: 6)
    #expect(await iterator?.next() == 6)
    store?.change(title: "C")
    store = nil
    #expect(await iterator?.next() == nil)
  }
}

/// The first call of an observer of a whole store, and observers with an id.
@MainActor @Suite struct `An observer of a store` {
  let store = Probe<A>()
  let trace = Trace()
  let owner = Owner()

  @Test func `an observer of a store is called with the present state at once if it wants to be`() {
    store.observe(owner, initially: true) { [trace] _, error in trace.add("first \(error == nil)") }
    store.observe(owner, initially: true, with: { [trace] _, _, error in trace.add("second \(error == nil)") })
    store.observe(owner) { [trace] _, _ in trace.add("third") }
    #expect(trace.lines == ["first true", "second true"])
    store.emitChange(error: Refused())
    #expect(trace.lines == ["first true", "second true", "first false", "second false", "third"])
  }

  @Test func `one observer that registers twice with its id is called once`() {
    let first = store.observe(owner, id: "title") { [trace] _, _ in trace.add("old") }
    store.observe(owner, id: "title") { [trace] _, _ in trace.add("new") }
    store.emitChange()
    #expect(trace.lines == ["new"])
    #expect(first.isCancelled)
  }

  @Test func `another id, another owner and no id are other observers`() {
    let other = Owner()
    store.observe(owner, id: 1) { [trace] _, _ in trace.add("1") }
    store.observe(owner, id: 2) { [trace] _, _ in trace.add("2") }
    store.observe(other, id: 1) { [trace] _, _ in trace.add("other") }
    for name in ["a", "b"] { store.observe(owner) { [trace] _, _ in trace.add(name) } }
    store.emitChange()
    #expect(trace.lines == ["1", "2", "other", "a", "b"])
  }

  @Test func `an observer that registers again in its own call is called from the next change on`() {
    store.observe(owner, id: 1) { [trace, owner] store, _ in
      trace.add("old")
      store.observe(owner, id: 1) { _, _ in trace.add("new") }
    }
    store.emitChange()
    store.emitChange()
    #expect(trace.lines == ["old", "new"])
  }

  @Test func `an id is one of all observers of an owner, whatever they observe of the store`() {
    store.observe(owner, id: 1) { [trace] _, _ in trace.add("store") }
    store.observe(owner, of: \.values.count, id: 1) { [trace] _, count in trace.add("\(count)") }
    store.emitChange()
    #expect(trace.lines == ["0"])
  }

  @Test func `one observer of a dispatcher that registers twice with its id is called once`() throws {
    let dispatcher = Dispatcher()
    let store = try dispatcher.probe(A.self)
    for name in ["old", "new"] { dispatcher.observe(owner, id: 1) { [trace] _, _ in trace.add(name) } }
    store.emitChange()
    #expect(trace.lines == ["new"])
  }
}

/// A derived value.
@MainActor @Suite struct `A selector` {
  private let player = Player()

  @Test func `a selector derives its value again only when a part of it has changed`() {
    let label = StoreSelector<Player, String>(\.title) { title in "Title \(title)" }
    #expect(label(player) == "Title A")
    player.change(volume: 6)
    #expect(label(player) == "Title A")
    #expect(label.derivations == 1)
    player.change(title: "B")
    #expect(label(player) == "Title B")
    #expect(label.derivations == 2)
  }

  @Test func `a selector may use itself while it derives`() {
    final class Tree {
      var (name, child): (String, Tree?)
      init(_ name: String, _ child: Tree? = nil) { (self.name, self.child) = (name, child) }
    }
    var path: StoreSelector<Tree, String>?
    let names = StoreSelector<Tree, String>({ [$0.name, $0.child.flatMap { path?($0) } ?? ""] }) {
      $0.joined(separator: "/") + "\((path?.derivations ?? 0) > 0)"
    }
    path = names
    #expect(names(Tree("a", Tree("b"))) == "a/b/truetrue")
    path = nil
  }

  @Test func `a selector of two and of three parts derives its value again for each of them`() {
    let two = StoreSelector<Player, String>(\.title, \.volume) { "\($0) \($1)" }
    let three = StoreSelector<Player, String>(\.title, \.volume, \.title.count) { "\($0) \($1) \($2)" }
    for _ in 1...2 { #expect(two(player) == "A 5" && three(player) == "A 5 1") }
    player.change(volume: 6)
    #expect(two(player) == "A 6" && three(player) == "A 6 1")
    player.change(title: "BB")
    #expect(two(player) == "BB 6" && three(player) == "BB 6 2")
    #expect(two.derivations == 3 && three.derivations == 3)
  }

  @Test func `a selector is a part of another one, and of several stores`() throws {
    let dispatcher = Dispatcher()
    try dispatcher.register(Player.self)
    let probe = try dispatcher.probe(A.self)
    let player = try dispatcher.store(Player.self)
    let loudness = StoreSelector<Player, String>(\.volume) { $0 > 5 ? "loud" : "quiet" }
    let line = StoreSelector<Dispatcher, String>({ _ in loudness(player) }, { _ in probe.values.count }) {
      "\($0) \($1)"
    }
    for _ in 1...2 { #expect(line(dispatcher) == "quiet 0") }
    dispatcher.dispatch(.go, 4)
    #expect(line(dispatcher) == "quiet 1")
    #expect(loudness.derivations == 2 && line.derivations == 2)
  }

  @Test func `an observer of a selector is called when its value has changed`() {
    let (trace, owner) = (Trace(), Owner())
    let loudness = StoreSelector<Player, String>(\.volume) { $0 > 5 ? "loud" : "quiet" }
    player.observe(owner, of: { loudness($0) }) { _, loudness in trace.add(loudness) }
    player.change(volume: 3)
    player.change(title: "B")
    player.change(volume: 8)
    #expect(trace.lines == ["quiet", "loud"])
    #expect(loudness.derivations == 3)
  }
}
