import ReactorCore
import ReactorTesting
import Synchronization
import TestSupport
import Testing

@testable import ReactorMiddleware

@Suite struct SignInObserverTests {
  private final class Observer: Sendable {
    let calls = Atomic(0)
  }

  @Test func `an observer is called while it lives, and is removed afterwards`() {
    let middleware = AuthenticationMiddleware(TokenAuthenticator(), credential: "1", origins: [Bench.url])
    let observer = Observer()
    let called = Shared(0)
    for _ in 0..<100 { middleware.observeSignIn(Observer()) { _ in called.change { $0 += 1 } } }
    middleware.observeSignIn(observer) { $0.calls.add(1, ordering: .relaxed) }
    middleware.signIn("2")
    #expect(called.value == 0)
    #expect(observer.calls.load(ordering: .relaxed) == 1)
    #expect(middleware.observerCount == 1)
  }
}
