import Foundation
import ReactorCore

/// The steps of the demo: network, memory, disk, revalidation, pruning, and an unreachable server.
struct DemoWalk {
  let server: DemoServer
  let directory: URL
  let report: DemoReport
  private let clock = DemoClock()
  private let log = EventLog()
  private let configuration: ReactorConfiguration
  let layer: ModelLayer
  private let token: ModelLayer.ObservationToken

  private static let good = NewsAPI.articleCount - NewsAPI.malformed.count

  init(server: DemoServer, directory: URL, report: DemoReport = DemoReport(write: DemoReport.printLine)) throws {
    self.report = report
    self.server = server
    self.directory = directory
    var configuration = ReactorConfiguration()
    configuration.saving = .required
    // Without retries, the failure of the stopped server appears at once.
    configuration.retry = .never
    configuration.now = { [clock] in clock.now }
    self.configuration = configuration
    layer = try DemoLayer.open(server.url, in: directory, configuration)
    token = layer.observeEvents { [log] in log.add($0) }
  }

  /// Runs all steps. The last one stops the server.
  ///
  /// - Throws: The error of the first step that does not behave as claimed.
  func run() async throws {
    let start = ContinuousClock.now
    report.write(
      "A news API runs on \(server.url): \(NewsAPI.articleCount) articles, \(NewsAPI.malformed.count) malformed.")
    report.write("Models are kept in memory, records in \(DemoLayer.storage), each fresh for five minutes.")
    let articles = layer.reactor([Article].self)
    try await fetchFromNetwork(articles)
    try await fetchFromMemory(articles)
    try await fetchInNewProcess()
    try await revalidate(articles)
    try await prune()
    try await parseStrictly()
    try await fetchWithoutServer(articles)
    report.write("\nAll as claimed, in \(DemoReport.text(ContinuousClock.now - start)).\n\n\(Self.next)")
  }

  /// The end of the output: the next things to read and to run. A test checks that they exist.
  static let next = """
    Read:  Examples/Demo/DemoWalk.swift, the code of these seven steps
           Sources/ReactorCore/ReactorCore.docc/GettingStarted.md, to begin your own program
           Sources/ReactorCore/ReactorCore.docc/TestingYourApp.md, to test it without a server
    Run:   make demo STAY=1, the inspector of this layer in a browser
           make newsroom, a news reader with comments that are sent when the network is back
    Logs:  LoggingMiddleware prints a line for each request, such as GET https://api.example.com/articles?q=…&page=2:
           names and page numbers, so that pages differ, and no other value, no header field and no body
    """

  /// Ends a save that may be in flight, which would otherwise create the removed directory again.
  func close() async { try? await layer.removeAll() }

  private func fetchFromNetwork(_ articles: Reactor<[Article]>) async throws {
    try await report.step("1. The first fetch comes from the network.") {
      let value = try await articles.fetch("articles")
      let events = log.take()
      try DemoReport.requireEqual(value.count, Self.good, "articles")
      try DemoReport.requireEqual(server.requestCount, 1, "requests at the server")
      try DemoReport.require(events.hasRequest && events.status == 200, "no 200 among the events")
      try DemoReport.require(events.hasSaved, "the record was not saved")
      return ["\(value.count) articles; one request; the record is saved"]
    }
  }

  private func fetchFromMemory(_ articles: Reactor<[Article]>) async throws {
    try await report.step("2. The second comes from memory.") {
      let value = try await articles.fetch("articles")
      let events = log.take()
      try DemoReport.requireEqual(value.count, Self.good, "articles")
      try DemoReport.require(events.hasMemoryHit && !events.hasRequest, "memory did not answer")
      try DemoReport.requireEqual(server.requestCount, 1, "requests at the server")
      return ["\(value.count) articles; nothing read, sent or parsed"]
    }
  }

  private func fetchInNewProcess() async throws {
    try await report.step("3. The third, in a new process, comes from disk.") {
      let (status, lines) = try await SecondProcess.run(server.url, directory)
      try DemoReport.requireEqual(status, 0, "exit code of the second process")
      try DemoReport.require(lines.contains { $0.hasPrefix("persistence hit, fresh") }, "no hit on disk: \(lines)")
      try DemoReport.require(!lines.contains { $0.hasPrefix("request") }, "it sent a request: \(lines)")
      try DemoReport.requireEqual(lines.last, "\(Self.good) articles", "the last line of the second process")
      try DemoReport.requireEqual(server.requestCount, 1, "requests at the server")
      return ["a second process over the same store:"] + lines.map { "  \($0)" }
    }
  }

  private func revalidate(_ articles: Reactor<[Article]>) async throws {
    clock.advance(minutes: 10)
    try await report.step("4. Ten minutes later the record is stale, so the server is asked whether it is still good.")
    {
      let value = try await articles.fetch("articles")
      let events = log.take()
      try DemoReport.requireEqual(value.count, Self.good, "articles")
      try DemoReport.requireEqual(server.requestCount, 2, "requests at the server")
      try DemoReport.require(events.hasConditionalRequest && events.hasNotModified, "it was not revalidated")
      try DemoReport.requireEqual(events.parsedBytes, 0, "bytes parsed")
      return ["304 Not Modified; no body came, nothing was parsed; fresh for another five minutes"]
    }
  }

  private func prune() async throws {
    try await report.step(
      "5. Bad elements are pruned and counted, here in the envelope {\"data\": {\"articles\": […]}}."
    ) {
      let reactor = layer.reactor([Article].self, parser: .json(keyPath: "data.articles"))
      let value = try await reactor.fetch("envelope")
      let pruned = log.take().pruned
      try DemoReport.requireEqual(value.count, Self.good, "articles")
      try DemoReport.requireEqual(pruned.map(\.index), NewsAPI.malformed, "pruned elements")
      return ["\(pruned.count) of \(NewsAPI.articleCount) pruned:"]
        + pruned.map { "  [\($0.index)] \($0.error)" }
    }
  }

  private func parseStrictly() async throws {
    try await report.step("6. Strict parsing fails instead, and says which element and where.") {
      let reactor = layer.reactor([Article].self, parser: .json(keyPath: "data.articles", mode: .strict))
      do {
        let value = try await reactor.fetch("envelope")
        throw DemoReport.NotAsClaimed(description: "\(value.count) articles were returned")
      } catch ReactorError.parser(let error) {
        _ = log.take()
        try DemoReport.require(error.codingPath.hasPrefix("data.articles[16]"), "it says: \(error)")
        try DemoReport.require(error.position != nil, "it does not say where: \(error)")
        return ["\(error)"]
      }
    }
  }

  private func fetchWithoutServer(_ articles: Reactor<[Article]>) async throws {
    server.stop()
    let requests = server.requestCount
    clock.advance(minutes: 10)
    try await report.step("7. Ten minutes later the server is gone, and the data is still there.") {
      let stored = try await articles.fetch("articles", policy: .networkFirst)
      try DemoReport.requireEqual(stored.count, Self.good, "articles by networkFirst")
      var configuration = configuration
      configuration.staleIfError = .seconds(3_600)
      let lenient = layer.reactor([Article].self, parser: .json(), configuration: configuration)
      let stale = try await lenient.fetch("articles")
      try DemoReport.requireEqual(stale, stored, "articles by cacheFirst with staleIfError")
      do {
        _ = try await articles.fetchFromNetwork("articles")
        throw DemoReport.NotAsClaimed(description: "networkOnly returned something")
      } catch ReactorError.network {
        try DemoReport.requireEqual(server.requestCount, requests, "requests at the server")
      }
      return [
        "networkFirst, and cacheFirst with staleIfError of an hour: \(stored.count) articles; networkOnly: the error"
      ]
    }
  }
}
