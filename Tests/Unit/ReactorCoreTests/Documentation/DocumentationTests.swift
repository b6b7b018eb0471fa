import Foundation
import TestSupport
import Testing

/// The Markdown of the repository is held to what the repository is.
@Suite("Documentation") struct DocumentationTests {
  @Test(arguments: [
    (
      "Documentation/MigratingFromReactor1.md",
      "MigrationExamples.swift, ../../ReactorOutboxTests/Documentation/MigratedWrites.swift"
    ),
    (
      "Documentation/MigratingFromJBFlux.md",
      "../../ReactorFluxTests/Documentation/JBFluxExamples.swift, "
        + "../../ReactorOutboxTests/Documentation/MigratedWrites.swift"
    ),
    ("Sources/FastJSON/FastJSON.docc/FastJSON.md", "../../FastJSONTests/Documentation/FastJSONExamples.swift"),
    (
      "Sources/HTTPCaching/HTTPCaching.docc/HTTPCaching.md",
      "../../HTTPCachingTests/Documentation/HTTPCachingExamples.swift"
    ),
    (
      "Sources/HTTPCachingProxy/HTTPCachingProxy.docc/HTTPCachingProxy.md",
      "../../HTTPCachingProxyTests/Documentation/HTTPCachingProxyExamples.swift"
    ),
    ("Sources/ReactorCore/ReactorCore.docc/GettingStarted.md", "GuideExamples.swift"),
    ("Sources/ReactorCore/ReactorCore.docc/FetchPolicies.md", "GuideExamples.swift"),
    ("Sources/ReactorCore/ReactorCore.docc/ImportantDefaults.md", "GuideExamples.swift"),
    ("Sources/ReactorCore/ReactorCore.docc/SigningIn.md", "GuideExamples.swift"),
    ("Sources/ReactorCore/ReactorCore.docc/Secrets.md", "GuideExamples.swift"),
    ("Sources/ReactorCore/ReactorCore.docc/StatesOfAResource.md", "GuideExamples.swift"),
    ("Sources/ReactorCore/ReactorCore.docc/ReactorCore.md", "GuideExamples.swift"),
    ("Sources/ReactorCore/ReactorCore.docc/Transports.md", "TransportExamples.swift"),
    ("Sources/ReactorCore/ReactorCore.docc/TestingYourApp.md", "TestingExamples.swift"),
    ("Sources/ReactorCore/ReactorCore.docc/Clocks.md", "TestingExamples.swift"),
    ("Sources/ReactorCore/ReactorCore.docc/ListsAndDetails.md", "ScreenGuideExamples.swift"),
    ("Sources/ReactorCore/ReactorCore.docc/ObservingValues.md", "ScreenGuideExamples.swift"),
    ("Sources/ReactorCore/ReactorCore.docc/Writing.md", "TaskGuideExamples.swift"),
    ("Sources/ReactorCore/ReactorCore.docc/Offline.md", "TaskGuideExamples.swift"),
    ("Sources/ReactorCore/ReactorCore.docc/ErrorsAndRetries.md", "TaskGuideExamples.swift"),
    ("Sources/ReactorCore/ReactorCore.docc/SearchesWithABody.md", "HTTPGuideExamples.swift"),
    (
      "Sources/ReactorCore/ReactorCore.docc/ErrorsThatPeopleUnderstand.md",
      "HTTPGuideExamples.swift, ../../ReactorOperatorsTests/UserMessageTests.swift"
    ),
    ("Sources/ReactorCore/ReactorCore.docc/BeingAPoliteClient.md", "HTTPGuideExamples.swift"),
    ("Sources/ReactorCore/ReactorCore.docc/ComingFromOtherLibraries.md", "TaskGuideExamples.swift"),
    ("Sources/ReactorCore/ReactorCore.docc/OnServers.md", "TaskGuideExamples.swift"),
    ("Sources/ReactorCore/ReactorCore.docc/OnAppleSystems.md", "../../../Checks/Apple/Examples.swift"),
    (
      "Sources/ReactorCore/ReactorCore.docc/WritingAPersistenceOrATransport.md",
      "TaskGuideExamples.swift"
    ),
    (
      "Sources/ReactorTesting/ReactorTesting.docc/ReactorTesting.md",
      "../../ReactorTestingTests/Documentation/ReactorTestingExamples.swift"
    ),
    (
      "Sources/ReactorTesting/ReactorTesting.docc/TestingOverRealHTTP.md",
      "../../ReactorTestingTests/Documentation/ReactorTestingExamples.swift"
    ),
    (
      "Sources/ReactorLive/ReactorLive.docc/ReactorLive.md", "../../ReactorLiveTests/Documentation/LiveExamples.swift"
    ),
    (
      "Sources/ReactorLive/ReactorLive.docc/LiveResources.md", "../../ReactorLiveTests/Documentation/LiveExamples.swift"
    ),
    (
      "Sources/ReactorChangeFeed/ReactorChangeFeed.docc/ReactorChangeFeed.md",
      "../../ReactorLiveTests/Documentation/LiveExamples.swift"
    ),
    (
      "Sources/ReactorChangeFeed/ReactorChangeFeed.docc/AChangeFeedOnYourServer.md",
      "../../ReactorLiveTests/Documentation/LiveExamples.swift"
    ),
    (
      "Sources/ReactorOperators/ReactorOperators.docc/ReactorOperators.md",
      "../../ReactorOperatorsTests/Documentation/FabricExamples.swift, "
        + "../../ReactorOperatorsTests/Documentation/OperatorExamples.swift"
    ),
    (
      "Sources/ReactorFlux/ReactorFlux.docc/ReactorFlux.md",
      "../../ReactorFluxTests/Documentation/FluxExamples.swift"
    ),
    (
      "Sources/ReactorFlux/ReactorFlux.docc/ObservingStores.md",
      "../../ReactorFluxTests/Documentation/ObservingExamples.swift"
    ),
    (
      "Sources/ReactorFlux/ReactorFlux.docc/Effects.md",
      "../../ReactorFluxTests/Documentation/ObservingExamples.swift"
    ),
    (
      "Sources/ReactorFlux/ReactorFlux.docc/SeeingWhatChanged.md",
      "../../ReactorFluxTests/Documentation/ObservingExamples.swift"
    ),
    (
      "Sources/ServerSentEvents/ServerSentEvents.docc/ServerSentEvents.md",
      "../../ServerSentEventsTests/Documentation/EventExamples.swift"
    ),
    (
      "Sources/ServerSentEvents/ServerSentEvents.docc/StreamingAnswers.md",
      "../../ServerSentEventsTests/Documentation/EventExamples.swift"
    ),
    (
      "Sources/ReactorLists/ReactorLists.docc/ReactorLists.md",
      "../../ReactorListsTests/Documentation/ListExamples.swift"
    ),
    (
      "Sources/ReactorOutbox/ReactorOutbox.docc/ReactorOutbox.md",
      "../../ReactorOutboxTests/Documentation/OutboxExamples.swift"
    ),
    (
      "Sources/ReactorOutbox/ReactorOutbox.docc/OutcomesOfAWrite.md",
      "../../ReactorOutboxTests/Documentation/OutboxExamples.swift"
    ),
    (
      "Sources/ReactorOutbox/ReactorOutbox.docc/WorkingOffline.md",
      "../../ReactorOutboxTests/Documentation/OutboxExamples.swift"
    ),
    (
      "Sources/ReactorObservability/ReactorObservability.docc/ReactorObservability.md",
      "../../ReactorObservabilityTests/Documentation/TelemetryExamples.swift"
    ),
    (
      "Sources/ReactorObservability/ReactorObservability.docc/Telemetry.md",
      "../../ReactorObservabilityTests/Documentation/TelemetryExamples.swift"
    ),
    (
      "Sources/ReactorSQLite/ReactorSQLite.docc/ReactorSQLite.md",
      "../../ReactorSQLiteTests/Documentation/SQLiteExamples.swift"
    ),
    (
      "Sources/ReactorAsyncHTTPClient/ReactorAsyncHTTPClient.docc/ReactorAsyncHTTPClient.md",
      "../../ReactorAsyncHTTPClientTests/Documentation/AsyncHTTPClientExamples.swift"
    ),
    (
      "Sources/ReactorOperators/ReactorOperators.docc/BuildingFabric.md",
      "../../ReactorOperatorsTests/Documentation/FabricExamples.swift"
    ),
  ])
  func `every block of Swift stands in a file that is compiled`(document: String, examples: String) throws {
    let texts = try examples.split(separator: ", ").map {
      try Repository.text(of: "Tests/Unit/ReactorCoreTests/Documentation/\($0)")
    }
    let compiled = texts.joined(separator: "\n").filter { !$0.isWhitespace }
    for block in try Repository.markdown(document).blocks(of: "swift") {
      let isCompiled = compiled.contains(block.text.filter { !$0.isWhitespace })
      #expect(isCompiled, "\(document):\(block.line) differs from \(examples)")
    }
  }

  @Test(arguments: try Repository.markdownFiles())
  func `every link leads to a file, and to a heading of it`(document: String) throws {
    for link in try Repository.markdown(document).links where !link.target.contains("://") {
      let parts = link.target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let path = parts[0].isEmpty ? document : Repository.path(parts[0], from: document)
      #expect(Repository.exists(path), "\(document):\(link.line) links to \(link.target)")
      guard parts.count == 2, path.hasSuffix(".md"), Repository.exists(path) else { continue }
      #expect(
        try Repository.markdown(path).anchors.contains(parts[1]), "\(document):\(link.line) links to \(link.target)")
    }
  }

  @Test func `every limit names a test that is there`() throws {
    let lines = try Repository.markdown("Documentation/Limits.md").lines
    let files = ["Tests", "Tools/Tests", "Sources/ReactorConformance", "Examples/Gateway/Tests"]
      .flatMap { Repository.swiftFiles(in: $0) }
    let names = Set(files.map { $0.split(separator: "/").last.map(String.init) ?? "" })
    for line in lines where line.hasPrefix("| ") && !line.hasPrefix("| ---") && !line.hasPrefix("| What") {
      let last = line.split(separator: "|").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? ""
      let tests = last.split(separator: ", ").map { String($0.filter { $0 != "`" }) }
      #expect(tests == ["none"] || tests.allSatisfy(names.contains), "\(line)")
    }
  }

  @Test func `the README is a page, and shows code at once`() throws {
    let readme = try Repository.markdown("README.md")
    #expect(readme.lines.count <= 110)
    let example = try #require(readme.blocks(of: "swift").first)
    let length = example.text.split(separator: "\n", omittingEmptySubsequences: false).count
    #expect(length <= 16)
    #expect(example.line + length < 40)
  }

  @Test func `decisions are numbered without a gap`() throws {
    let names = try Repository.markdownFiles().filter { $0.hasPrefix("Documentation/Decisions/") }
      .compactMap { $0.split(separator: "/").last }.sorted()
    for (index, name) in names.enumerated() {
      #expect(Int(name.prefix(4)) == index + 1, "\(name)")
    }
    #expect(names.count >= 7)
  }
}
