// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let httpTypes: [Target.Dependency] = [
  .product(name: "HTTPTypes", package: "swift-http-types"),
  .product(name: "HTTPTypesFoundation", package: "swift-http-types"),
]

// Products of `package` that are resolved with `trait`, or with the trait Server.
func products(_ names: [String], package: String, trait: String) -> [Target.Dependency] {
  names.map { .product(name: $0, package: package, condition: .when(traits: [trait, "Server"])) }
}
// The trait Server stands for the five others and does not enable them: SwiftPM before 6.4 passes
// two enabled traits in a random order, and compiles everything again when the order changes (its
// issue 10525). So the targets behind a trait define its name themselves.
func settings(trait: String) -> [SwiftSetting] { settings + [.define(trait, .when(traits: ["Server"]))] }

let sqlite = products(["GRDB", "GRDBSQLite"], package: "GRDB.swift", trait: "SQLite")
let sealing = products(["Crypto"], package: "swift-crypto", trait: "Sealing")
let asyncHTTPClient =
  products(["AsyncHTTPClient"], package: "async-http-client", trait: "AsyncHTTPClient")
  + products(["NIOCore", "NIOHTTP1", "NIOPosix"], package: "swift-nio", trait: "AsyncHTTPClient")
  + products(["NIOHTTP2"], package: "swift-nio-http2", trait: "AsyncHTTPClient")
  + products(["NIOSSL"], package: "swift-nio-ssl", trait: "AsyncHTTPClient")
let valkey =
  products(["NIOCore", "NIOPosix"], package: "swift-nio", trait: "Valkey")
  + products(["NIOSSL"], package: "swift-nio-ssl", trait: "Valkey")
let observability =
  products(["Logging"], package: "swift-log", trait: "Observability")
  + products(["CoreMetrics"], package: "swift-metrics", trait: "Observability")
  + products(["Tracing"], package: "swift-distributed-tracing", trait: "Observability")
// The backends of its tests.
let recorders =
  products(["InMemoryLogging"], package: "swift-log", trait: "Observability")
  + products(["MetricsTestKit"], package: "swift-metrics", trait: "Observability")
  + products(["InMemoryTracing"], package: "swift-distributed-tracing", trait: "Observability")
// An app tells Apple why it reads the times of files: for its own files alone (C617.1). Elsewhere,
// the resource would cost an accessor for its bundle, and a directory beside each program.
#if canImport(Darwin)
  let privacy: (exclude: [String], resources: [Resource]) = ([], [.copy("PrivacyInfo.xcprivacy")])
#else
  let privacy: (exclude: [String], resources: [Resource]) = (["PrivacyInfo.xcprivacy"], [])
#endif
// What users link.
let libraries: [Target] = [
  .target(name: "FastJSON", swiftSettings: settings),
  .target(
    name: "HTTPCaching", dependencies: httpTypes, exclude: privacy.exclude, resources: privacy.resources,
    swiftSettings: settings),
  .target(name: "HTTPCachingProxy", dependencies: httpTypes + ["HTTPCaching"], swiftSettings: settings),
  .target(
    name: "ReactorCore", dependencies: httpTypes + ["FastJSON", "HTTPCaching"], swiftSettings: settings),
  .target(
    name: "ReactorNetlink",
    dependencies: ["ReactorCore", .target(name: "CReactorNetlink", condition: .when(platforms: [.linux]))],
    swiftSettings: settings),
  .target(name: "CReactorNetlink"),
  .target(
    name: "ReactorMiddleware", dependencies: httpTypes + ["HTTPCaching", "ReactorCore"], swiftSettings: settings),
  .target(name: "ReactorOperators", dependencies: httpTypes + ["ReactorCore"], swiftSettings: settings),
  .target(name: "ReactorWrites", dependencies: httpTypes + ["HTTPCaching", "ReactorCore"], swiftSettings: settings),
  .target(
    name: "ReactorLists", dependencies: httpTypes + ["ReactorCore", "ReactorWrites"], swiftSettings: settings),
  .target(
    name: "ReactorOutbox", dependencies: httpTypes + ["HTTPCaching", "ReactorCore", "ReactorWrites"],
    swiftSettings: settings),
  .target(name: "ServerSentEvents", dependencies: httpTypes + ["ReactorCore"], swiftSettings: settings),
  .target(name: "ReactorFlux", swiftSettings: settings),
  .target(name: "ReactorChangeFeed", dependencies: httpTypes, swiftSettings: settings),
  .target(
    name: "ReactorLive",
    dependencies: httpTypes + ["HTTPCaching", "ReactorCore", "ReactorOperators", "ServerSentEvents"],
    swiftSettings: settings),
  .target(
    name: "ReactorInspector",
    dependencies: httpTypes + ["CReactorInspectorPage", "ReactorCore", "ReactorFlux", "ReactorLive"],
    swiftSettings: settings),
  // The inspector's HTML, as bytes.
  .target(name: "CReactorInspectorPage", exclude: ["inspector.html"]),
  // The server beneath MockServer and the demo.
  .target(name: "ReactorLoopback", dependencies: httpTypes, swiftSettings: settings),
  .target(
    name: "ReactorTesting",
    dependencies: httpTypes + ["ReactorCore", "ReactorLoopback", "ReactorOperators", "ReactorFlux"],
    swiftSettings: settings),
  // Tests an implementation of a protocol of ours; ReactorTesting tests an app.
  .target(
    name: "ReactorConformance",
    dependencies: httpTypes + ["ReactorCore", "ReactorFleet", "ReactorOutbox", "ReactorTesting", "ServerSentEvents"],
    swiftSettings: settings),
  .target(
    name: "ReactorSQLite", dependencies: sqlite + ["HTTPCaching", "ReactorCore", "ReactorOutbox"],
    swiftSettings: settings(trait: "SQLite")),
  .target(
    name: "ReactorSealing", dependencies: sealing + ["HTTPCaching", "ReactorCore", "ReactorFlux", "ReactorOutbox"],
    swiftSettings: settings(trait: "Sealing")),
  .target(
    name: "ReactorAsyncHTTPClient",
    dependencies: asyncHTTPClient + httpTypes + [
      "ReactorCore", .target(name: "CReactorZlib", condition: .when(traits: ["AsyncHTTPClient", "Server"])),
    ], swiftSettings: settings(trait: "AsyncHTTPClient")),
  // The system's zlib. On Linux, its headers are in zlib1g-dev.
  .systemLibrary(name: "CReactorZlib"),
  .target(
    name: "ReactorFleet", dependencies: httpTypes + ["HTTPCaching", "HTTPCachingProxy", "ReactorCore"],
    swiftSettings: settings),
  .target(
    name: "ReactorValkey", dependencies: valkey + ["HTTPCaching", "ReactorChangeFeed", "ReactorFleet"],
    swiftSettings: settings(trait: "Valkey")),
  .target(
    name: "ReactorObservability",
    dependencies: observability + httpTypes + ["HTTPCaching", "ReactorCore", "ReactorFleet"],
    swiftSettings: settings(trait: "Observability")),
]

// What the tests need, and programs that are no products.
let support: [Target] = [
  .target(
    name: "TestSupport",
    dependencies: httpTypes + [
      "HTTPCaching", "HTTPCachingProxy", "ReactorConformance", "ReactorCore", "ReactorFleet", "ReactorLists",
      "ReactorLive", "ReactorMiddleware", "ReactorOutbox", "ReactorSQLite", "ReactorTesting", "ReactorWrites",
    ], path: "Tests/Support", swiftSettings: settings(trait: "SQLite")),
  // `make demo`. A target of this package, so that it compiles little and resolves less.
  .executableTarget(
    name: "ReactorDemo",
    dependencies: httpTypes + ["ReactorCore", "ReactorInspector", "ReactorLoopback", "ReactorSQLite"],
    path: "Examples/Demo", swiftSettings: settings(trait: "SQLite")),
  // For the documentation's examples where SwiftUI is not. Without the settings, as SwiftUI is
  // compiled.
  .target(name: "SwiftUIStandIn", path: "Tests/SwiftUIStandIn"),
  // A VFS of SQLite whose calls fail.
  .target(name: "CFaultVFS", path: "Tests/CFaultVFS"),
  // The long run of the simulation.
  .executableTarget(
    name: "Simulate", dependencies: ["ReactorConformance", "ReactorTesting", "TestSupport"], path: "Tests/Simulate",
    swiftSettings: settings),
  // Seals a store again, and is killed.
  .executableTarget(
    name: "Resealer", dependencies: ["HTTPCaching", "ReactorOutbox", "ReactorSealing"], path: "Tests/Resealer",
    swiftSettings: settings(trait: "Sealing")),
  .executableTarget(
    name: "StoreWriter",
    dependencies: httpTypes + [
      "ReactorChangeFeed", "ReactorCore", "ReactorLists", "ReactorLive", "ReactorLoopback", "ReactorOutbox",
      "ReactorSQLite", "ReactorTesting", "TestSupport",
    ], path: "Tests/StoreWriter", swiftSettings: settings(trait: "SQLite")),
]

func tests(of name: String, _ dependencies: [Target.Dependency], settings: [SwiftSetting] = settings) -> Target {
  .testTarget(
    name: name, dependencies: dependencies, path: "Tests/\(name.hasSuffix("Tests") ? "Unit/" : "")\(name)",
    swiftSettings: settings)
}

let tests: [Target] = [
  tests(
    of: "Scenarios",
    httpTypes + [
      "HTTPCachingProxy", "ReactorCore", "ReactorFlux", "ReactorInspector", "ReactorLists", "ReactorMiddleware",
      "ReactorOutbox", "ReactorTesting", "ReactorWrites", "TestSupport",
    ]),
  tests(
    of: "Races",
    httpTypes + [
      "ReactorCore", "ReactorFlux", "ReactorInspector", "ReactorMiddleware", "ReactorTesting", "TestSupport",
    ]),
  tests(of: "Simulation", httpTypes + ["ReactorCore", "ReactorConformance", "ReactorTesting"]),
  // Suites that run after all others: they need both processors, kill processes, fail disks, damage
  // files, run programs or measure memory.
  tests(
    of: "Faults",
    sqlite + httpTypes + [
      "HTTPCaching", "ReactorCore", "ReactorNetlink", "ReactorOutbox", "ReactorSQLite", "ReactorConformance",
      "ReactorTesting", "ReactorDemo",
      "TestSupport", "StoreWriter", "Simulate",
      .target(name: "CFaultVFS", condition: .when(traits: ["SQLite", "Server"])),
    ], settings: settings(trait: "SQLite")),
  tests(of: "FastJSONTests", ["FastJSON", "ReactorTesting"]),
  tests(of: "HTTPCachingTests", httpTypes + ["HTTPCaching", "ReactorConformance", "ReactorTesting", "TestSupport"]),
  tests(
    of: "HTTPCachingProxyTests",
    httpTypes + ["HTTPCachingProxy", "HTTPCaching", "ReactorTesting", "TestSupport"]),
  // swift-async-algorithms is for one page of the documentation.
  tests(
    of: "ReactorOperatorsTests",
    httpTypes + ["ReactorOperators", "ReactorCore", "ReactorMiddleware", "ReactorTesting", "TestSupport"]
      + products(["AsyncAlgorithms"], package: "swift-async-algorithms", trait: "Server"),
    settings: settings(trait: "AsyncAlgorithms")),
  tests(
    of: "ReactorCoreTests",
    httpTypes + [
      "ReactorCore", "ReactorConformance", "ReactorMiddleware", "ReactorTesting", "ReactorWrites", "SwiftUIStandIn",
      "TestSupport",
    ]),
  tests(
    of: "ReactorMiddlewareTests",
    httpTypes + [
      "ReactorMiddleware", "ReactorCore", "ReactorLoopback", "ReactorTesting", "TestSupport",
    ]),
  tests(
    of: "ReactorNetlinkTests", ["ReactorNetlink", "ReactorConformance", "ReactorCore", "ReactorTesting"]),
  tests(
    of: "ReactorWritesTests",
    httpTypes + ["ReactorWrites", "HTTPCaching", "ReactorCore", "ReactorTesting", "TestSupport"]),
  tests(
    of: "ReactorListsTests",
    httpTypes + [
      "ReactorLists", "ReactorCore", "ReactorTesting", "ReactorWrites", "SwiftUIStandIn", "TestSupport",
    ]),
  tests(
    of: "ReactorOutboxTests",
    httpTypes + [
      "ReactorOutbox", "HTTPCaching", "ReactorCore", "ReactorConformance", "ReactorMiddleware", "ReactorTesting",
      "ReactorWrites", "TestSupport",
    ]),
  tests(
    of: "ReactorFleetTests",
    httpTypes + [
      "ReactorFleet", "HTTPCachingProxy", "HTTPCaching", "ReactorCore", "ReactorConformance", "ReactorTesting",
      "TestSupport",
    ]),
  tests(
    of: "ServerSentEventsTests",
    httpTypes + [
      "ServerSentEvents", "ReactorCore", "ReactorLoopback", "ReactorConformance", "ReactorMiddleware",
      "ReactorTesting", "TestSupport",
    ]),
  tests(of: "ReactorFluxTests", ["ReactorFlux"]),
  tests(
    of: "ReactorLiveTests",
    httpTypes + [
      "ReactorLive", "HTTPCaching", "ReactorChangeFeed", "ReactorCore", "ReactorConformance", "ReactorMiddleware",
      "ReactorOutbox", "ReactorTesting", "ReactorWrites", "ServerSentEvents", "TestSupport",
    ]),
  tests(of: "ReactorChangeFeedTests", httpTypes + ["ReactorChangeFeed", "ReactorTesting"]),
  tests(
    of: "ReactorInspectorTests",
    httpTypes + [
      "ReactorInspector", "ReactorCore", "ReactorConformance", "ReactorFlux", "ReactorLive", "ReactorOutbox",
      "ReactorTesting", "TestSupport",
    ]),
  tests(
    of: "ReactorTestingTests",
    httpTypes + ["ReactorTesting", "ReactorLoopback", "ReactorCore", "ReactorOperators", "ReactorFlux", "TestSupport"]),
  tests(
    of: "ReactorConformanceTests",
    httpTypes + [
      "ReactorConformance", "ReactorCore", "ReactorLoopback", "ReactorTesting", "ServerSentEvents", "TestSupport",
    ]),
  tests(
    of: "ReactorSQLiteTests",
    sqlite + httpTypes + [
      "ReactorSQLite", "ReactorCore", "ReactorOutbox", "ReactorConformance", "ReactorTesting", "TestSupport",
    ],
    settings: settings(trait: "SQLite")),
  tests(
    of: "ReactorSealingTests",
    sealing + httpTypes + [
      "ReactorSealing", "HTTPCaching", "ReactorCore", "ReactorFlux", "ReactorOutbox", "ReactorSQLite",
      "ReactorConformance", "ReactorTesting", "Resealer", "TestSupport",
    ], settings: settings(trait: "Sealing") + [.define("SQLite", .when(traits: ["Server"]))]),
  tests(
    of: "ReactorAsyncHTTPClientTests",
    asyncHTTPClient + httpTypes + [
      "ReactorAsyncHTTPClient", "ReactorCore", "ReactorConformance", "ReactorTesting", "TestSupport",
    ], settings: settings(trait: "AsyncHTTPClient")),
  tests(
    of: "ReactorValkeyTests",
    valkey + products(["NIOTestUtils"], package: "swift-nio", trait: "Valkey") + [
      "ReactorValkey", "HTTPCaching", "ReactorChangeFeed", "ReactorFleet", "ReactorConformance", "ReactorTesting",
      "TestSupport",
    ], settings: settings(trait: "Valkey")),
  tests(
    of: "ReactorObservabilityTests",
    observability + recorders + asyncHTTPClient + httpTypes + [
      "ReactorObservability", "ReactorAsyncHTTPClient", "ReactorCore", "ReactorFleet", "ReactorInspector",
      "ReactorOutbox", "ReactorConformance", "ReactorTesting", "TestSupport",
    ], settings: settings(trait: "Observability") + [.define("AsyncHTTPClient", .when(traits: ["Server"]))]),
]
// With REACTOR_TESTS=ReactorCoreTests,Races only these test targets are compiled and linked; the
// makefile uses it.
let chosen = Context.environment["REACTOR_TESTS"]?.split(separator: ",").map(String.init)

let package = Package(
  name: "Reactor",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "FastJSON", targets: ["FastJSON"]),
    .library(name: "HTTPCaching", targets: ["HTTPCaching"]),
    .library(name: "HTTPCachingProxy", targets: ["HTTPCachingProxy"]),
    .library(name: "ReactorCore", targets: ["ReactorCore"]),
    .library(name: "ReactorMiddleware", targets: ["ReactorMiddleware"]),
    .library(name: "ReactorNetlink", targets: ["ReactorNetlink"]),
    .library(name: "ReactorOperators", targets: ["ReactorOperators"]),
    .library(name: "ReactorWrites", targets: ["ReactorWrites"]),
    .library(name: "ReactorLists", targets: ["ReactorLists"]),
    .library(name: "ReactorOutbox", targets: ["ReactorOutbox"]),
    .library(name: "ServerSentEvents", targets: ["ServerSentEvents"]),
    .library(name: "ReactorFlux", targets: ["ReactorFlux"]),
    .library(name: "ReactorLive", targets: ["ReactorLive"]),
    .library(name: "ReactorChangeFeed", targets: ["ReactorChangeFeed"]),
    .library(name: "ReactorInspector", targets: ["ReactorInspector"]),
    .library(name: "ReactorTesting", targets: ["ReactorTesting"]),
    .library(name: "ReactorConformance", targets: ["ReactorConformance"]),
    .library(name: "ReactorSQLite", targets: ["ReactorSQLite"]),
    .library(name: "ReactorSealing", targets: ["ReactorSealing"]),
    .library(name: "ReactorAsyncHTTPClient", targets: ["ReactorAsyncHTTPClient"]),
    .library(name: "ReactorFleet", targets: ["ReactorFleet"]),
    .library(name: "ReactorValkey", targets: ["ReactorValkey"]),
    .library(name: "ReactorObservability", targets: ["ReactorObservability"]),
  ],
  traits: [
    .trait(name: "SQLite", description: "SQLitePersistence, in ReactorSQLite, on GRDB"),
    .trait(name: "Sealing", description: "Sealing, in ReactorSealing, on swift-crypto"),
    .trait(
      name: "AsyncHTTPClient",
      description: "AsyncHTTPClientTransport, in ReactorAsyncHTTPClient, on async-http-client"),
    .trait(name: "Valkey", description: "ValkeyStore, in ReactorValkey, on SwiftNIO"),
    .trait(
      name: "Observability",
      description: "Observability, in ReactorObservability, on swift-log, swift-metrics and swift-distributed-tracing"),
    .trait(name: "Server", description: "All of the above, as one trait: SwiftPM builds two more slowly"),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-http-types", from: "1.7.0"),
    .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.0.0"),
    .package(url: "https://github.com/apple/swift-crypto", "3.12.3"..<"5.0.0"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.30.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.7.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.6.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.2.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.29.0"),
    .package(url: "https://github.com/apple/swift-nio-http2", from: "1.36.0"),
  ],
  targets: libraries + support + tests.filter { chosen?.contains($0.name) ?? true },
  swiftLanguageModes: [.v6]
)
