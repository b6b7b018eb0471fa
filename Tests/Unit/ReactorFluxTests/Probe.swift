import Testing

@testable import ReactorFlux

/// A store that does with ``Event/go`` and ``Event/next`` what the test says. Each tag is a
/// separate store type.
final class Probe<Tag>: Store {
  typealias Body = @MainActor (Probe, Action<Int>) throws -> Void

  let context = StoreContext()
  /// The payloads of what it handled, in order.
  private(set) var values: [Int] = []
  private let body: Body

  init(_ body: @escaping Body = { _, _ in }) { self.body = body }

  static var handlers: [ActionHandler<Probe>] {
    [.on(.go) { store, action in try store.handle(action) }, .on(.next) { store, action in try store.handle(action) }]
  }

  private func handle(_ action: Action<Int>) throws {
    values += action.payload.map { [$0] } ?? []
    try body(self, action)
  }
}

enum A {}
enum B {}
enum C {}
enum D {}

extension Event where Payload == Int {
  static var go: Event { Event("go") }
  static var next: Event { Event("next") }
}

struct Refused: Error, Equatable {}

/// The names of what happened, in order.
@MainActor final class Trace {
  private(set) var lines: [String] = []

  func add(_ line: String) { lines.append(line) }

  /// A probe's body that writes a line.
  func line<Tag>(_ name: String) -> Probe<Tag>.Body { { _, action in self.add("\(name) \(action.payload ?? 0)") } }
}

/// The failures that a dispatcher reported.
@MainActor final class Reports {
  private(set) var errors: [FluxError] = []

  init(of dispatcher: Dispatcher) { dispatcher.onFailure = add }

  func add(_ error: FluxError) { errors.append(error) }

  var lines: [String] { errors.map(\.description) }
}

/// Anything that may own an observation.
final class Owner {}

extension Dispatcher {
  func probe<Tag>(_ tag: Tag.Type, _ body: @escaping Probe<Tag>.Body = { _, _ in }) throws -> Probe<Tag> {
    try register(Probe<Tag>.self) { Probe(body) }
    return try store(Probe<Tag>.self)
  }
}

/// `FluxError` is compared by what it says, which names all that it carries.
@MainActor func expect(
  _ expected: FluxError, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) {
  let thrown = #expect(throws: FluxError.self, sourceLocation: sourceLocation) { try body() }
  #expect(thrown?.description == expected.description, sourceLocation: sourceLocation)
}

func name(_ type: any Any.Type) -> String { readable(String(reflecting: type)) }
