import Testing

/// A promise of a contract, and its check.
struct ConformanceCheck<Subject: Sendable>: Sendable {
  let name: String
  private let body: @Sendable (Subject) async throws -> Void

  init(_ name: String, _ body: @escaping @Sendable (Subject) async throws -> Void) {
    self.name = name
    self.body = body
  }

  /// Checks the promise. An error of the check is an issue at `location`.
  func run(_ subject: Subject, at location: SourceLocation) async {
    do {
      try await body(subject)
    } catch {
      Issue.record("\(name): threw \(error)", sourceLocation: location)
    }
  }
}
