import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorCore

/// Users' objects end, and users' closures run, where no lock is held.
@Suite("Ends of users' objects", .timeLimit(.minutes(5)))
struct ObjectEndTests {
  /// A model that asks its reactor when it ends.
  private final class Mourned: Sendable {
    let text: String
    private let onEnd: @Sendable (String) -> Void

    init(_ text: String, onEnd: @escaping @Sendable (String) -> Void) {
      self.text = text
      self.onEnd = onEnd
    }

    deinit { onEnd(text) }
  }

  private struct Setting: Sendable {
    let reactor: Reactor<Mourned>
    let ended: Shared<[String]>
    let make: @Sendable (String) -> Mourned

    init(configure: (inout ReactorConfiguration) -> Void = { _ in }) {
      let ended = Shared<[String]>([])
      let asked = Shared<Reactor<Mourned>?>(nil)
      let make: @Sendable (String) -> Mourned = { text in
        Mourned(text) { text in
          _ = asked.value?.cached("another")
          ended.change { $0.append(text) }
        }
      }
      var configuration = ReactorConfiguration()
      configuration.keepUnusedFor = .never
      configure(&configuration)
      reactor = Reactor(flow: ReactorFlow(configuration: configuration) { make($0.path) })
      self.ended = ended
      self.make = make
      let made = reactor
      asked.change { $0 = made }
    }
  }

  @Test func `a model that is replaced may ask its reactor when it ends`() async throws {
    let setting = Setting()
    try await setting.reactor.save(setting.make("old"), for: "note")
    try await setting.reactor.save(setting.make("new"), for: "note")
    #expect(setting.ended.value == ["old"])
  }

  @Test func `a model that is evicted may ask its reactor when it ends`() async throws {
    let setting = Setting { $0.memoryLimit.models = 1 }
    try await setting.reactor.save(setting.make("a"), for: "a")
    try await setting.reactor.save(setting.make("b"), for: "b")
    #expect(setting.ended.value == ["a"])
  }

  @Test func `an open stream does not hold the model that it began with`() async throws {
    let setting = Setting()
    try await setting.reactor.save(setting.make("old"), for: "note")
    var states: LoadStates<Mourned>.Iterator? = setting.reactor.states(for: "note").makeAsyncIterator()
    try await setting.reactor.save(setting.make("new"), for: "note")
    #expect(setting.ended.value == ["old"])
    #expect(await states?.next()?.value?.text == "new")
    states = nil
  }

  @Test func `an observer that ends may observe again`() {
    let layer = ModelLayer(baseURL: Bench.url)
    let ended = Shared(false)
    observe(layer) { _ in
      layer.observeEvents { _ in }.cancel()
      ended.change { $0 = true }
    }.cancel()
    #expect(ended.value)
  }

  private func observe(_ layer: ModelLayer, onEnd: @escaping @Sendable (String) -> Void) -> ModelLayer.ObservationToken
  {
    let mourned = Mourned("observer", onEnd: onEnd)
    return layer.observeEvents { _ in _ = mourned }
  }

  /// Keeps what it was given to report progress with.
  private final class Keeper: Transport {
    let kept = Shared<[@Sendable (TransferProgress) -> Void]>([])
    func send(
      _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> (HTTPResponse, Data) {
      kept.change { $0.append(progress) }
      return (HTTPResponse(status: .ok), Data(Note(1, "one").json.utf8))
    }
  }

  @Test func `a transport that keeps its progress closure holds no generation`() async throws {
    let keeper = Keeper()
    let notes = ModelLayer(baseURL: Bench.url, transport: keeper, reachability: .always).reactor(Note.self)
    _ = try await notes.fetch("note")
    // The task that ran the flight ends after its callers have their answer.
    for _ in 0..<10_000 where notes.engine.layer.generations.activeKeys > 0 { await Task.yield() }
    #expect(notes.engine.layer.generations.activeKeys == 0)
    #expect(keeper.kept.value.count == 1)
  }
}
