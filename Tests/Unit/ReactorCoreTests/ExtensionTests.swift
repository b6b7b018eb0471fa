import Foundation
import ReactorCore
import ReactorTesting
import Synchronization
import TestSupport
import Testing

/// A part that notes what it hears.
private final class Part<Kind>: LayerPart {
  private struct State {
    var isReady = true
    var waiters: [CheckedContinuation<Void, Never>] = []
    var heard: [String] = []
  }

  let name: String
  private let state: Mutex<State>
  private let fails: Bool

  init(_ name: String, isReady: Bool = true, fails: Bool = false) {
    self.name = name
    self.fails = fails
    state = Mutex(State(isReady: isReady))
  }

  var heard: [String] { state.withLock(\.heard) }

  func hear(_ word: String) { state.withLock { $0.heard.append(word) } }

  func becomeReady() {
    let waiters = state.withLock { state in
      state.isReady = true
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  var isReady: Bool { state.withLock(\.isReady) }

  func ready() async {
    await withCheckedContinuation { continuation in
      let isReady = state.withLock { state in
        state.heard.append("asked")
        if !state.isReady { state.waiters.append(continuation) }
        return state.isReady
      }
      if isReady { continuation.resume() }
    }
  }

  func willRemoveAll() -> PartRemoval {
    hear("will remove")
    return PartRemoval { [self] in
      hear("removes")
      if fails { throw CocoaError(.fileWriteNoPermission) }
    } end: {
      self.hear("ends")
    }
  }

  func wentOnline() { hear("online") }

  /// An extension that gives this part to a layer.
  var asExtension: ModelLayer.Extension { ModelLayer.Extension { _ in self } }
}

private enum One {}
private enum Two {}

@Suite("Extensions of a layer", .timeLimit(.minutes(2)))
struct ExtensionTests {
  private let transport = ScriptedTransport { _, _ in .json(#"["a"]"#) }

  private func layer(_ extensions: [ModelLayer.Extension], isReversed: Bool = false) -> ModelLayer {
    var configuration = ReactorConfiguration()
    configuration.retry = .never
    return ModelLayer(
      baseURL: Bench.url, transport: transport, reachability: .always, configuration: configuration,
      extensions: isReversed ? extensions.reversed() : extensions)
  }

  @Test(arguments: [false, true])
  func `nothing is fetched before each part is ready, in whatever order they are`(isReversed: Bool) async throws {
    let (one, two) = (Part<One>("one", isReady: false), Part<Two>("two", isReady: false))
    let layer = layer([one.asExtension, two.asExtension], isReversed: isReversed)
    let fetch = Task { try await layer.reactor([String].self).fetch("list") }
    let parts = [
      (heard: { one.heard }, becomeReady: one.becomeReady), (heard: { two.heard }, becomeReady: two.becomeReady),
    ]
    for part in isReversed ? parts.reversed() : parts {
      var turns = 0
      while part.heard() != ["asked"], turns < 100_000 {
        await Task.yield()
        turns += 1
      }
      #expect(part.heard() == ["asked"] && transport.requestCount == 0)
      part.becomeReady()
    }
    #expect(try await fetch.value == ["a"])
  }

  @Test(arguments: [false, true])
  func `each part removes what it has, though another fails`(isReversed: Bool) async throws {
    let (one, two) = (Part<One>("one", fails: true), Part<Two>("two"))
    let layer = layer([one.asExtension, two.asExtension], isReversed: isReversed)
    let error = await TestSupport.error { try await layer.removeAll() }
    if case .persistence? = error {} else { Issue.record("\(String(describing: error))") }
    for heard in [one.heard, two.heard] { #expect(heard == ["will remove", "removes", "ends"]) }
  }

  @Test func `each part hears that connectivity is back`() {
    let (one, two) = (Part<One>("one"), Part<Two>("two"))
    let layer = layer([one.asExtension, two.asExtension])
    layer.isOffline = true
    layer.isOffline = false
    #expect(one.heard == ["online"] && two.heard == ["online"])
  }

  @Test func `the last of two extensions of one kind counts, and the others are not created`() {
    let made = Shared<[String]>([])
    func part<Kind>(_ name: String, _ kind: Kind.Type) -> ModelLayer.Extension {
      ModelLayer.Extension { _ in
        made.change { $0.append(name) }
        return Part<Kind>(name)
      }
    }
    let layer = layer([part("a", One.self), part("b", Two.self), part("c", One.self)])
    #expect(made.value == ["b", "c"])
    #expect(layer.layer.part { Part<One>("another") }.name == "c")
    #expect(layer.layer.part { Part<Two>("another") }.name == "b")
  }

  @Test func `a part that is requested later is one for all that ask`() {
    let layer = layer([])
    let first = layer.layer.part { Part<One>("first") }
    #expect(layer.layer.part { Part<One>("second") } === first)
    #expect(layer.layer.parts.count == 1)
  }

  @Test func `one extension makes a part for each layer`() {
    let description = ModelLayer.Extension { layer in Part<One>(layer.scope.name) }
    let layers = ["ada", "grace"].map { scope in
      ModelLayer(baseURL: Bench.url, transport: transport, scope: Scope(scope), extensions: [description])
    }
    #expect(layers.map { $0.layer.part { Part<One>("another") }.name } == ["ada", "grace"])
  }
}
