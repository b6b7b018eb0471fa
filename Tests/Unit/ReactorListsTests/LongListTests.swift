import Foundation
import HTTPTypes
import ReactorCore
import ReactorLists
import ReactorTesting
import TestSupport
import Testing

@Suite("A long list", .timeLimit(.minutes(5)))
struct LongListTests {
  /// Opens a list of as many pages while its states are read, and returns the processor time of it.
  ///
  /// All of it runs on this thread, whose time other tests and processes do not count in.
  private func timeToOpen(_ count: Int, limit: Int? = nil) async throws -> Duration {
    let executor = SteppedExecutor()
    let transport = ScriptedTransport { request, _ in
      let number = (request.path ?? "").split(separator: "=").last.flatMap { Int($0) } ?? 1
      var answer = ScriptedTransport.Answer.json("[\(number)]")
      if number < count, let link = HTTPField.Name("Link") {
        answer = .response(
          headers: [link: "<items?page=\(number + 1)>; rel=next", .contentType: "application/json"],
          body: Data("[\(number)]".utf8))
      }
      return answer
    }
    var configuration = ReactorConfiguration()
    configuration.taskExecutor = executor
    let layer = ModelLayer(baseURL: Bench.url, transport: transport, configuration: configuration)
    let reactor: Reactor<[Int]> = layer.reactor()
    let pages = reactor.pages(from: "items", limit: limit)
    let reader = Task(executorPreference: executor) {
      var states = 0
      for await _ in pages.states { states += 1 }
      return states
    }
    let opening = Task(executorPreference: executor) { while try await pages.loadNext() {} }
    let start = Self.processorTime
    executor.run()
    let time = Self.processorTime - start
    try await opening.value
    let held = limit.map { min($0, count) } ?? count
    #expect(pages.states.current.value?.count == held && transport.requestCount == count)
    reader.cancel()
    executor.run()
    #expect(await reader.value >= count)
    return time
  }

  private static var processorTime: Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  @Test func `a long list opens in a time that grows with its pages, not with their square`() async throws {
    var (short, long) = (Duration.seconds(3_600), Duration.seconds(3_600))
    for _ in 1...2 {
      short = min(short, try await timeToOpen(60))
      long = min(long, try await timeToOpen(600))
    }
    // With the square, it was 140 times as long.
    #expect(long < short * 30, "60 pages: \(short), 600 pages: \(long)")
  }

  @Test func `a long list whose pages the limit drops opens in such a time too`() async throws {
    let (short, long) = (try await timeToOpen(60, limit: 5), try await timeToOpen(600, limit: 5))
    #expect(long < short * 30, "60 pages: \(short), 600 pages: \(long)")
  }
}
