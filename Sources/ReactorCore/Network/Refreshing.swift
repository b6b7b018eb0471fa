import Synchronization

/// The refresh of a credential that the current task is part of, so that the refresh cannot wait for itself.
///
/// Requests that it sends pass its middleware unsigned, and no flight is shared with it: the flight may be waiting for the
/// refresh. Both end with the refresh, also for a task that it has left behind.
final class Refreshing: Sendable {
  @TaskLocal private static var current: Refreshing?

  private let middleware: ObjectIdentifier
  private let outer: Refreshing?
  private let isOver = Atomic<Bool>(false)

  private init(_ middleware: ObjectIdentifier, within outer: Refreshing?) {
    self.middleware = middleware
    self.outer = outer
  }

  /// Runs `body` as a refresh of `middleware`.
  static func run<Result: Sendable>(
    of middleware: ObjectIdentifier, _ body: () async -> Result
  ) async -> Result {
    let refreshing = Refreshing(middleware, within: current)
    defer { refreshing.isOver.store(true, ordering: .releasing) }
    return await $current.withValue(refreshing) { await body() }
  }

  /// Runs `body` as part of no refresh, whatever task made it.
  static func outside(_ body: () async -> Void) async {
    guard current != nil else { return await body() }
    await $current.withValue(nil) { await body() }
  }

  /// A Boolean value that indicates whether the current task is part of a refresh that has not ended.
  static var isUnderWay: Bool { isUnderWay { _ in true } }

  /// The same for the refreshes of one middleware.
  static func isUnderWay(of middleware: ObjectIdentifier) -> Bool { isUnderWay { $0 == middleware } }

  private static func isUnderWay(where isMeant: (ObjectIdentifier) -> Bool) -> Bool {
    var next = current
    while let refreshing = next {
      if isMeant(refreshing.middleware), !refreshing.isOver.load(ordering: .acquiring) { return true }
      next = refreshing.outer
    }
    return false
  }
}
