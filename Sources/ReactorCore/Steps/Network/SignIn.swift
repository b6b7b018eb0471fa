import Synchronization

/// A middleware that says when requests can be signed again.
package protocol SignInObservable {
  /// Calls `body` after each sign-in, and after the first refresh that succeeds after a refused
  /// one, for as long as `observer` lives.
  func observeSignIn<Observer: AnyObject & Sendable>(
    _ observer: Observer, _ body: @escaping @Sendable (Observer) -> Void)
}

extension ReactorError {
  /// The error of requests after a sign-out. Nothing is sent in the user's name; see
  /// ``ModelLayer/signOut()``.
  public struct SignedOut: Error, Hashable, CustomStringConvertible {
    /// Creates the error, for your own middleware.
    public init() {}

    public var description: String {
      "the user is signed out; call signIn(_:) of the AuthenticationMiddleware with a new credential"
    }
  }
}

/// The refresh of a credential that the current task is part of. It keeps a refresh from waiting
/// for itself.
///
/// Requests of the refresh pass its middleware unsigned, and share no flight: a flight may be
/// waiting for the refresh. Both rules end with the refresh, even for a task that outlives it.
package final class Refreshing: Sendable {
  @TaskLocal private static var current: Refreshing?

  private let middleware: ObjectIdentifier
  private let outer: Refreshing?
  private let isOver = Atomic<Bool>(false)

  private init(_ middleware: ObjectIdentifier, within outer: Refreshing?) {
    self.middleware = middleware
    self.outer = outer
  }

  /// Runs `body` as a refresh of `middleware`.
  package static func run<Result: Sendable>(
    of middleware: ObjectIdentifier, _ body: () async -> Result
  ) async -> Result {
    let refreshing = Refreshing(middleware, within: current)
    defer { refreshing.isOver.store(true, ordering: .releasing) }
    return await $current.withValue(refreshing) { await body() }
  }

  /// Runs `body` outside of any refresh, even if the current task is part of one.
  static func outside(_ body: () async -> Void) async {
    guard current != nil else { return await body() }
    await $current.withValue(nil) { await body() }
  }

  /// Returns the error without the words about the body, which has tokens: of a request of the
  /// refresh, in whatever layer.
  static func redacted(_ error: any Error) -> any Error { isUnderWay ? withoutBody(error) : error }

  /// Returns the error without the words about the body of the response.
  package static func withoutBody(_ error: any Error) -> any Error {
    switch error {
    case let error as ParserError: error.withoutBody
    case ReactorError.parser(let error): ReactorError.parser(error.withoutBody)
    case ReactorError.network(let error as ReactorError): ReactorError.network(withoutBody(error))
    default: error
    }
  }

  /// A Boolean value that indicates whether the current task is part of a refresh that has not
  /// ended.
  package static var isUnderWay: Bool { isUnderWay { _ in true } }

  /// Returns `true` if the current task is part of a refresh of `middleware` that has not ended.
  package static func isUnderWay(of middleware: ObjectIdentifier) -> Bool { isUnderWay { $0 == middleware } }

  private static func isUnderWay(where isMeant: (ObjectIdentifier) -> Bool) -> Bool {
    var next = current
    while let refreshing = next {
      if isMeant(refreshing.middleware), !refreshing.isOver.load(ordering: .acquiring) { return true }
      next = refreshing.outer
    }
    return false
  }
}
