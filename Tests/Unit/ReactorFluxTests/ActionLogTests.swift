import Foundation
import Testing

@testable import ReactorFlux

/// Writing and reading a log.
@MainActor @Suite struct `A log of actions` {
  let recorder = ActionRecorder()
  let dispatcher: Dispatcher

  init() throws {
    dispatcher = try .ofLedger()
    dispatcher.use(recorder)
  }

  @Test func `a log of actions is written as names, payloads and errors, with a version and the stores`() throws {
    dispatcher.dispatch(.added, Entry(title: "Rent", amounts: [1, 2]))
    dispatcher.dispatch(.noted, "hello")
    dispatcher.dispatch(.noted, nil)
    dispatcher.dispatch(.cleared)
    dispatcher.dispatch(.added, error: Refused())
    #expect(
      try Self.text(recorder.log) == """
        {"actions":[{"event":"added","payload":{"amounts":[1,2],"title":"Rent"}},{"event":"noted","payload":"hello"},\
        {"event":"noted","payload":null},{"event":"cleared"},\
        {"error":{"description":"Refused()","type":"ReactorFluxTests.Refused"},"event":"added"}],\
        "stores":["ReactorFluxTests.Balance","ReactorFluxTests.Ledger"],"version":1}
        """)
  }

  @Test func `a log of actions that was written and read gives the same stores, and is written the same`() throws {
    dispatcher.dispatch(.added, Entry(title: "Rent", amounts: [1, 2]))
    dispatcher.dispatch(.noted, nil)
    dispatcher.dispatch(.noted, "hello")
    dispatcher.dispatch(.noted, error: Refused())
    dispatcher.dispatch(.added, error: Refused())
    let fresh = try Dispatcher.ofLedger()
    let text = try Self.text(recorder.log)
    let log = try Self.log(text, fresh)
    #expect(log.actions.map(\.name) == ["added", "noted", "noted", "noted", "added"])
    let error = try #require(log.actions.last?.error as? LoggedError)
    #expect(error.type == "ReactorFluxTests.Refused")
    try fresh.replay(log)
    #expect(try fresh.ledger == dispatcher.ledger)
    #expect(try fresh.ledger.lines == ["added", "nil", "hello", "Refused()", "Refused()"])
    #expect(try fresh.total == 3)
    #expect(try Self.text(log) == text)
  }

  @Test func `a log of actions that is empty is written and read`() throws {
    let log = try Self.log(Self.text(ActionLog()), dispatcher)
    #expect(log.actions.isEmpty)
    #expect(log.stores.isEmpty)
    try dispatcher.replay(log)
  }

  @Test func `a log with a payload that is not Codable is refused before anything is written`() throws {
    struct Opaque: Sendable {}
    dispatcher.dispatch(.noted, "first")
    dispatcher.dispatch(Event<[Opaque]>("opaque"), [Opaque()])
    let payload = name([Opaque].self)
    expect(.notCodable(event: "opaque", payload: payload)) { _ = try JSONEncoder().encode(recorder.log) }
    let attempt = try JSONEncoder().encode(Attempt(log: recorder.log))
    #expect(String(decoding: attempt, as: UTF8.self) == #"{"failed":true}"#)
    // Its error has no payload.
    recorder.removeAll()
    dispatcher.dispatch(Event<[Opaque]>("opaque"), error: Refused())
    #expect(try Self.text(recorder.log).contains("Refused"))
  }

  @Test func `a log with an event whose payload cannot be read is refused`() throws {
    try dispatcher.register(WriteOnly.self)
    dispatcher.dispatch(Event<Outgoing>("outgoing"), Outgoing())
    let text = try Self.text(recorder.log)
    expect(.notCodable(event: "outgoing", payload: name(Outgoing.self))) { _ = try Self.log(text, dispatcher) }
  }

  @Test func `a log of another version is refused`() {
    expect(.unsupportedLogVersion(found: 2, supported: 1)) {
      _ = try Self.log(#"{"version": 2, "something": "else"}"#, dispatcher)
    }
  }

  @Test func `a log of actions is not read without the events of a dispatcher`() {
    let error = #expect(throws: DecodingError.self) {
      _ = try JSONDecoder().decode(ActionLog.self, from: Data(#"{"version":1,"stores":[],"actions":[]}"#.utf8))
    }
    guard case .dataCorrupted(let context) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(context.debugDescription.contains("decodingInfo"))
  }

  @Test(arguments: [
    (
      #"{"event":"added","payload":{"title":"Rent","amounts":[1,"two"]}}"#,
      "actions, Index 1, payload, amounts, Index 1"
    ),
    (#"{"event":"added"}"#, "actions, Index 1"),
    (#"{"payload":"no event"}"#, "actions, Index 1"),
    (#"{"event":"added","error":"text"}"#, "actions, Index 1, error"),
    (#"7"#, "actions"),
  ])
  func `a log of actions that is corrupt is refused, with the place`(entry: String, path: String) throws {
    let text = #"{"version":1,"stores":[],"actions":[{"event":"cleared"},\#(entry)]}"#
    let error = try #require(throws: DecodingError.self) { _ = try Self.log(text, dispatcher) }
    #expect(Self.path(error).hasPrefix(path), "\(error)")
  }

  @Test func `an event of a log that no store handles is read without its payload, and does nothing`() throws {
    let text = #"{"version":1,"stores":[],"actions":[{"event":"foreign","payload":{"a":1}},{"event":"cleared"}]}"#
    let log = try Self.log(text, dispatcher)
    #expect(log.actions.map(\.name) == ["foreign", "cleared"])
    let reports = Reports(of: dispatcher)
    try dispatcher.replay(log)
    #expect(try dispatcher.ledger.lines == ["cleared"])
    #expect(reports.lines == [])
    // An action that was not read is not written as if it had been.
    #expect(throws: FluxError.self) { try Self.text(log) }
  }

  private static func text(_ log: ActionLog) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return String(decoding: try encoder.encode(log), as: UTF8.self)
  }

  private static func log(_ text: String, _ dispatcher: Dispatcher) throws -> ActionLog {
    let decoder = JSONDecoder()
    decoder.userInfo = dispatcher.decodingInfo
    return try decoder.decode(ActionLog.self, from: Data(text.utf8))
  }

  private static func path(_ error: DecodingError) -> String {
    let path: [any CodingKey] =
      switch error {
      case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
        .dataCorrupted(let context):
        context.codingPath
      @unknown default: []
      }
    return path.map(\.stringValue).joined(separator: ", ")
  }
}

/// Writes whether the log was refused, beside what it had written by then.
private struct Attempt: Encodable {
  let log: ActionLog

  func encode(to encoder: any Encoder) throws {
    var failed = false
    do { try log.encode(to: encoder) } catch { failed = true }
    try ["failed": failed].encode(to: encoder)
  }
}

struct Outgoing: Encodable, Sendable {}

private final class WriteOnly: PlainStore {
  let context = StoreContext()
  static let handlers: [ActionHandler<WriteOnly>] = [.on(Event<Outgoing>("outgoing")) { _, _ in }]
}

/// The name of a type in a log and in an error.
@Suite struct `A type's name` {
  @Test(arguments: [
    ("App.(unknown context at $104e8c2f0).Session", "App.Session"), ("App.Session", "App.Session"),
    ("App.(unknown context at $1).Outer.(unknown context at $2).Inner", "App.Outer.Inner"),
  ])
  func `a type's name is the same in each run`(written: String, name: String) { #expect(readable(written) == name) }
}
