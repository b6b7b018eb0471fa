import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorCore

@Suite(.timeLimit(.minutes(5))) struct `A retry middleware` {
  private let clock = TestClock()
  private let transport = ScriptedTransport()
  private let reachability = ScriptedReachability()
  private let request = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/notes")

  /// Waits just as long as the ceiling says, since the server asks for it.
  private func busy(_ seconds: Int) -> ScriptedTransport.Answer {
    .response(.serviceUnavailable, fields: [.retryAfter: "\(seconds)"])
  }

  private func backend(
    _ policy: RetryPolicy = RetryPolicy(), then middlewares: any TransportMiddleware...
  ) -> Backend {
    let retry = RetryMiddleware(policy, clock: clock, now: clock.wallClock, reachability: reachability)
    return Backend(baseURL: Bench.url, transport: transport, middlewares: [retry] + middlewares)
  }

  private func checkNothingWaits() async throws {
    try await transport.waitUntilIdle()
    try clock.checkNobodySleeps()
    try await reachability.waitUntilNobodyListens()
  }

  @Test func `a retry middleware sends the request again when the wait is over, and not before`() async throws {
    transport.answer("/notes", with: busy(5), busy(7), .json("[]"))
    let backend = backend()
    let answer = Task { try await backend.send(request, body: Data("?".utf8)) }
    try await clock.waitForSleeper(until: .init(elapsed: .seconds(5)))
    #expect(transport.requestCount == 1)
    clock.advance(by: .seconds(5))
    try await clock.waitForSleeper(until: .init(elapsed: .seconds(12)))
    #expect(transport.requestCount == 2)
    clock.advance(by: .seconds(7))
    let (response, body) = try await answer.value
    #expect(response.status == .ok)
    #expect(body == Data("[]".utf8))
    #expect(transport.requests.map(\.request) == Array(repeating: request, count: 3))
    #expect(transport.requests.map(\.body) == Array(repeating: Data("?".utf8), count: 3))
    try await checkNothingWaits()
  }

  @Test func `a retry middleware gives the last answer as it is`() async throws {
    transport.answer("/notes", with: busy(0), .response(.badGateway, body: Data("sorry".utf8)))
    let (response, body) = try await backend(RetryPolicy(firstDelay: .zero)).send(request, body: nil)
    #expect(response.status == .badGateway)
    #expect(body == Data("sorry".utf8))
    #expect(transport.requestCount == 3)
    try await checkNothingWaits()
  }

  @Test func `a retry middleware throws the last error as it is`() async throws {
    transport.answer("/notes", with: busy(0), .failure(URLError(.cannotConnectToHost)), .failure(Broken()))
    await #expect(throws: Broken.self) {
      try await backend(RetryPolicy(attempts: 9, firstDelay: .zero)).send(request, body: nil)
    }
    #expect(transport.requestCount == 3)
    try await checkNothingWaits()
  }

  @Test func `a retry after too long a Retry-After is not made, and its answer is the result`() async throws {
    transport.answer("/notes", with: busy(3_600))
    #expect(try await backend().send(request, body: nil).0.status == .serviceUnavailable)
    #expect(transport.requestCount == 1)
    try await checkNothingWaits()
  }

  @Test func `a retry middleware draws its waits from the seed`() async throws {
    transport.answer("/notes", with: .response(.serviceUnavailable))
    var policy = RetryPolicy(attempts: 4, firstDelay: .seconds(1))
    policy.seed = 7
    var waits: [[Duration]] = []
    for _ in 1...2 {
      let backend = backend(policy)
      let answer = Task { try await backend.send(request, body: nil) }
      var row: [Duration] = []
      for _ in 1...3 {
        try await clock.waitForSleepers()
        let deadline = try #require(clock.nextDeadline)
        row.append(clock.now.duration(to: deadline))
        clock.advance(to: deadline)
      }
      _ = try await answer.value
      waits.append(row)
    }
    #expect(waits[0] == waits[1])
    #expect(Set(waits[0]).count == 3)
    for (wait, ceiling) in zip(waits[0], [1, 2, 4]) { #expect(wait <= .seconds(ceiling)) }
    try await checkNothingWaits()
  }

  @Test func `a retry middleware ends at once when it is cancelled while it waits`() async throws {
    transport.answer("/notes", with: busy(5))
    let backend = backend()
    let answer = Task { try await backend.send(request, body: nil) }
    try await clock.waitForSleepers()
    answer.cancel()
    await #expect(throws: CancellationError.self) { try await answer.value }
    #expect(transport.requestCount == 1)
    try await checkNothingWaits()
  }

  @Test func `a retry middleware does not send again what was cancelled while it was sent`() async throws {
    let gate = Gate()
    transport.answer("/notes", with: busy(0).held(at: gate, ignoresCancellation: true))
    let backend = backend(RetryPolicy(firstDelay: .zero))
    let answer = Task { try await backend.send(request, body: nil) }
    try await gate.waitForArrival()
    answer.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await answer.value }
    #expect(transport.requestCount == 1)
    try await checkNothingWaits()
  }

  @Test func `a retry that is due waits for connectivity, and continues when it returns`() async throws {
    transport.answer("/notes", with: busy(5), .json("[]"))
    let backend = backend()
    let answer = Task { try await backend.send(request, body: nil) }
    try await clock.waitForSleepers()
    reachability.set(false)
    clock.advance(by: .seconds(5))
    // The longest that it waits for connectivity.
    try await clock.waitForSleeper(until: .init(elapsed: .seconds(35)))
    #expect(transport.requestCount == 1)
    reachability.set(true)
    #expect(try await answer.value.0.status == .ok)
    #expect(transport.requestCount == 2)
    try await checkNothingWaits()
  }

  @Test func `a retry middleware gives the last answer when connectivity does not come back in time`() async throws {
    transport.answer("/notes", with: busy(5))
    let backend = backend()
    let answer = Task { try await backend.send(request, body: nil) }
    try await clock.waitForSleepers()
    reachability.set(false)
    clock.advance(by: .seconds(5))
    try await clock.waitForSleeper(until: .init(elapsed: .seconds(35)))
    clock.advance(by: .seconds(30))
    #expect(try await answer.value.0.status == .serviceUnavailable)
    #expect(transport.requestCount == 1)
    try await checkNothingWaits()
  }

  @Test func `a retry middleware ends at once when it is cancelled while it waits for connectivity`() async throws {
    transport.answer("/notes", with: .failure(URLError(.networkConnectionLost)))
    reachability.set(false)
    let backend = backend(RetryPolicy(firstDelay: .zero))
    let answer = Task { try await backend.send(request, body: nil) }
    try await clock.waitForSleeper(until: .init(elapsed: .seconds(30)))
    answer.cancel()
    await #expect(throws: CancellationError.self) { try await answer.value }
    try await checkNothingWaits()
  }

  @Test func `a retry fails at once if no change of connectivity can be reported`() async throws {
    transport.answer("/notes", with: .failure(URLError(.networkConnectionLost)))
    let retry = RetryMiddleware(
      RetryPolicy(firstDelay: .zero), clock: clock, now: clock.wallClock, reachability: .never)
    let backend = Backend(baseURL: Bench.url, transport: transport, middlewares: [retry])
    await #expect(throws: URLError.self) { try await backend.send(request, body: nil) }
    try await checkNothingWaits()
  }

  @Test(arguments: ["localhost:8080", "127.0.0.1", "[::1]"])
  func `a retry middleware does not ask about connectivity for a loopback host`(authority: String) async throws {
    transport.answer("/notes", with: busy(0), .json("[]"))
    reachability.set(false)
    var request = request
    request.authority = authority
    #expect(try await backend(RetryPolicy(firstDelay: .zero)).send(request, body: nil).0.status == .ok)
    #expect(reachability.timesAsked == 0)
    try await checkNothingWaits()
  }
}
