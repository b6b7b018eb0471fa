import Foundation
import HTTPTypes
import ReactorCore
import ReactorFlux
import ReactorTesting
import TestSupport
import Testing

/// A model layer feeds a store, and neither module knows the other: a closure joins them.
@MainActor @Suite("A store that a reactor feeds", .timeLimit(.minutes(5)))
struct StoreFedByReactorTests {
  @Test func `a fetch is one action, with the model or with the error`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    bench.transport.answer("/v1/gone", with: .response(.gone))
    let notes = bench.layer.reactor(Note.self)
    let dispatcher = Dispatcher()
    try dispatcher.register(NoteStore.self)
    let test = StoreTest(dispatcher)

    await test.dispatch(
      .noteLoaded, from: { try await notes.fetch("note") },
      expect: { $0.changes(NoteStore.self, where: { $0.note?.text == "one" }) })
    await test.dispatch(
      .noteLoaded, from: { try await notes.fetch("gone") },
      expect: { $0.fails(NoteStore.self, where: { $0.note?.text == "one" }) })
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a screen that leaves cancels its fetch, and no action follows`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: gate))
    let notes = bench.layer.reactor(Note.self)
    let dispatcher = Dispatcher()
    try dispatcher.register(NoteStore.self)
    let test = StoreTest(dispatcher)
    let screen = Task {
      await test.dispatch(.noteLoaded, from: { try await notes.fetch("note") })
    }
    try await gate.waitForArrival()
    screen.cancel()
    await screen.value
    #expect(try dispatcher.store(NoteStore.self).note == nil)
    gate.open()
    try await bench.waitUntilNothingWaits()
  }
}

extension Event where Payload == Note {
  fileprivate static var noteLoaded: Event { Event("noteLoaded") }
}

private final class NoteStore: PlainStore {
  let context = StoreContext()
  private(set) var note: Note?

  static let handlers: [ActionHandler<NoteStore>] = [
    .on(.noteLoaded) { store, action in
      store.note = action.payload ?? store.note
      store.emitChange(error: action.error)
    }
  ]
}
