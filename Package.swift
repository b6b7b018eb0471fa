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

// Without its trait, none of a list is resolved.
let sqlite: [Target.Dependency] = ["GRDB", "GRDBSQLite"].map { name in
  .product(name: name, package: "GRDB.swift", condition: .when(traits: ["SQLite"]))
}
let asyncHTTPClient: [Target.Dependency] =
  [
    .product(name: "AsyncHTTPClient", package: "async-http-client", condition: .when(traits: ["AsyncHTTPClient"])),
    .product(name: "NIOHTTPCompression", package: "swift-nio-extras", condition: .when(traits: ["AsyncHTTPClient"])),
  ]
  + ["NIOCore", "NIOHTTP1", "NIOPosix"].map { name in
    .product(name: name, package: "swift-nio", condition: .when(traits: ["AsyncHTTPClient"]))
  }

let valkey: [Target.Dependency] =
  ["NIOCore", "NIOPosix"].map { name in
    .product(name: name, package: "swift-nio", condition: .when(traits: ["Valkey"]))
  } + [.product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["Valkey"]))]

let observability: [Target.Dependency] = [
  .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Observability"])),
  .product(name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["Observability"])),
  .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Observability"])),
]
// The backends of its tests.
let recorders: [Target.Dependency] = [
  .product(name: "InMemoryLogging", package: "swift-log", condition: .when(traits: ["Observability"])),
  .product(name: "MetricsTestKit", package: "swift-metrics", condition: .when(traits: ["Observability"])),
  .product(name: "InMemoryTracing", package: "swift-distributed-tracing", condition: .when(traits: ["Observability"])),
]

// An HTTP/2 server, for its tests.
let http2Server: [Target.Dependency] = [
  .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["AsyncHTTPClient"])),
  .product(name: "NIOHTTP2", package: "swift-nio-http2", condition: .when(traits: ["AsyncHTTPClient"])),
]

let package = Package(
  name: "Reactor",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "FastJSON", targets: ["FastJSON"]),
    .library(name: "HTTPCaching", targets: ["HTTPCaching"]),
    .library(name: "ReactorCore", targets: ["ReactorCore"]),
    .library(name: "ReactorOperators", targets: ["ReactorOperators"]),
    .library(name: "ReactorLists", targets: ["ReactorLists"]),
    .library(name: "ReactorOutbox", targets: ["ReactorOutbox"]),
    .library(name: "ReactorFlux", targets: ["ReactorFlux"]),
    .library(name: "ReactorInspector", targets: ["ReactorInspector"]),
    .library(name: "ReactorTesting", targets: ["ReactorTesting"]),
    .library(name: "ReactorSQLite", targets: ["ReactorSQLite"]),
    .library(name: "ReactorAsyncHTTPClient", targets: ["ReactorAsyncHTTPClient"]),
    .library(name: "ReactorFleet", targets: ["ReactorFleet"]),
    .library(name: "ReactorValkey", targets: ["ReactorValkey"]),
    .library(name: "ReactorObservability", targets: ["ReactorObservability"]),
  ],
  traits: [
    .trait(name: "SQLite", description: "SQLitePersistence, in ReactorSQLite, on GRDB"),
    .trait(
      name: "AsyncHTTPClient",
      description: "AsyncHTTPClientTransport, in ReactorAsyncHTTPClient, on async-http-client"),
    .trait(name: "Valkey", description: "ValkeyStore, in ReactorValkey, on SwiftNIO"),
    .trait(
      name: "Observability",
      description: "Observability, in ReactorObservability, on swift-log, swift-metrics and swift-distributed-tracing"),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
    .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.0.0"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.30.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.7.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.6.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.2.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.26.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.29.0"),
    .package(url: "https://github.com/apple/swift-nio-http2", from: "1.36.0"),
  ],
  targets: [
    .target(name: "FastJSON", swiftSettings: settings),
    .target(name: "HTTPCaching", dependencies: httpTypes, swiftSettings: settings),
    .target(
      name: "ReactorCore",
      dependencies: ["FastJSON", "HTTPCaching"] + httpTypes + [
        .target(name: "CReactorNetlink", condition: .when(platforms: [.linux]))
      ],
      swiftSettings: settings),
    .target(name: "ReactorOperators", dependencies: ["ReactorCore"], swiftSettings: settings),
    .target(name: "ReactorLists", dependencies: ["ReactorCore"] + httpTypes, swiftSettings: settings),
    .target(name: "ReactorOutbox", dependencies: ["HTTPCaching", "ReactorCore"] + httpTypes, swiftSettings: settings),
    .target(name: "CReactorNetlink"),
    .target(name: "ReactorFlux", swiftSettings: settings),
    .target(
      name: "ReactorInspector", dependencies: ["CReactorInspectorPage", "ReactorCore", "ReactorFlux"] + httpTypes,
      swiftSettings: settings),
    // The inspector's HTML, as bytes.
    .target(name: "CReactorInspectorPage", exclude: ["inspector.html"]),
    // The server beneath MockServer and the demo.
    .target(name: "ReactorLoopback", dependencies: httpTypes, swiftSettings: settings),
    .target(
      name: "ReactorTesting",
      dependencies: [
        "ReactorCore", "ReactorFleet", "ReactorLoopback", "ReactorOperators", "ReactorOutbox", "ReactorFlux",
      ] + httpTypes,
      swiftSettings: settings),
    .target(
      name: "ReactorSQLite", dependencies: ["HTTPCaching", "ReactorCore", "ReactorOutbox"] + sqlite,
      swiftSettings: settings),
    .target(
      name: "ReactorAsyncHTTPClient", dependencies: ["ReactorCore"] + asyncHTTPClient + httpTypes,
      swiftSettings: settings),
    .target(name: "ReactorFleet", dependencies: ["HTTPCaching", "ReactorCore"] + httpTypes, swiftSettings: settings),
    .target(name: "ReactorValkey", dependencies: ["HTTPCaching", "ReactorFleet"] + valkey, swiftSettings: settings),
    .target(
      name: "ReactorObservability",
      dependencies: ["HTTPCaching", "ReactorCore", "ReactorFleet"] + observability + httpTypes,
      swiftSettings: settings),
    .target(
      name: "TestSupport",
      dependencies: ["HTTPCaching", "ReactorCore", "ReactorFleet", "ReactorLists", "ReactorOutbox", "ReactorTesting"]
        + httpTypes,
      path: "Tests/Support",
      swiftSettings: settings),
    // `make demo`; no product. A target of this package, so that it compiles little and resolves
    // less.
    .executableTarget(
      name: "ReactorDemo",
      dependencies: ["ReactorCore", "ReactorInspector", "ReactorLoopback", "ReactorSQLite"] + httpTypes,
      path: "Examples/Demo", swiftSettings: settings),
    // For the documentation's examples where SwiftUI is not. Without the settings, as SwiftUI is
    // compiled.
    .target(name: "SwiftUIStandIn", path: "Tests/SwiftUIStandIn"),
    // A VFS of SQLite whose calls fail.
    .target(name: "CFaultVFS", path: "Tests/CFaultVFS"),
    // The long run of the simulation; no product.
    .executableTarget(
      name: "Simulate", dependencies: ["ReactorTesting", "TestSupport"], path: "Tests/Simulate",
      swiftSettings: settings),
    .executableTarget(
      name: "StoreWriter", dependencies: ["ReactorCore", "ReactorSQLite", "ReactorTesting", "TestSupport"],
      path: "Tests/StoreWriter",
      swiftSettings: settings),
  ]
    + ["Scenarios", "Races"].map { name in
      .testTarget(
        name: name,
        dependencies: ["ReactorCore", "ReactorFlux", "ReactorInspector", "ReactorTesting", "TestSupport"] + httpTypes,
        path: "Tests/\(name)", swiftSettings: settings)
    } + [
      .testTarget(
        name: "Simulation", dependencies: ["ReactorCore", "ReactorTesting"] + httpTypes,
        path: "Tests/Simulation", swiftSettings: settings),
      // Suites that run after all others: they need both processors, kill processes, fail disks,
      // damage files, run programs or measure memory.
      .testTarget(
        name: "Destructive",
        dependencies: [
          "HTTPCaching", "ReactorCore", "ReactorOutbox", "ReactorSQLite", "ReactorAsyncHTTPClient", "ReactorTesting",
          "ReactorDemo", "TestSupport", "StoreWriter", "Simulate",
          .target(name: "CFaultVFS", condition: .when(traits: ["SQLite"])),
        ] + sqlite + asyncHTTPClient + http2Server + httpTypes,
        swiftSettings: settings),
      .testTarget(name: "FastJSONTests", dependencies: ["FastJSON", "ReactorTesting"], swiftSettings: settings),
      .testTarget(
        name: "HTTPCachingTests",
        dependencies: ["HTTPCaching", "ReactorTesting", "TestSupport"] + httpTypes,
        swiftSettings: settings),
      .testTarget(
        name: "ReactorOperatorsTests",
        dependencies: [
          "ReactorOperators", "ReactorCore", "ReactorTesting", "TestSupport",
          .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
        ] + httpTypes, swiftSettings: settings),
      .testTarget(
        name: "ReactorCoreTests",
        dependencies: ["ReactorCore", "ReactorTesting", "SwiftUIStandIn", "TestSupport"] + httpTypes,
        swiftSettings: settings),
      .testTarget(
        name: "ReactorListsTests",
        dependencies: ["ReactorLists", "ReactorCore", "ReactorTesting", "SwiftUIStandIn", "TestSupport"] + httpTypes,
        swiftSettings: settings),
      .testTarget(
        name: "ReactorOutboxTests",
        dependencies: ["ReactorOutbox", "HTTPCaching", "ReactorCore", "ReactorTesting", "TestSupport"] + httpTypes,
        swiftSettings: settings),
      .testTarget(
        name: "ReactorFleetTests",
        dependencies: ["ReactorFleet", "HTTPCaching", "ReactorCore", "ReactorTesting", "TestSupport"] + httpTypes,
        swiftSettings: settings),
      .testTarget(
        name: "ReactorValkeyTests",
        dependencies: ["ReactorValkey", "HTTPCaching", "ReactorFleet", "ReactorTesting", "TestSupport"] + valkey + [
          .product(name: "NIOTestUtils", package: "swift-nio", condition: .when(traits: ["Valkey"]))
        ],
        swiftSettings: settings),
      .testTarget(
        name: "ReactorObservabilityTests",
        dependencies: [
          "ReactorObservability", "ReactorAsyncHTTPClient", "ReactorCore", "ReactorFleet", "ReactorTesting",
          "TestSupport",
        ] + observability + recorders + asyncHTTPClient + httpTypes,
        swiftSettings: settings),
      .testTarget(name: "ReactorFluxTests", dependencies: ["ReactorFlux"], swiftSettings: settings),
      .testTarget(
        name: "ReactorInspectorTests",
        dependencies: [
          "ReactorInspector", "ReactorCore", "ReactorFlux", "ReactorOutbox", "ReactorTesting", "TestSupport",
        ] + httpTypes,
        swiftSettings: settings),
      .testTarget(
        name: "ReactorTestingTests",
        dependencies: [
          "ReactorTesting", "ReactorLoopback", "ReactorCore", "ReactorOperators", "ReactorFlux", "TestSupport",
        ] + httpTypes, swiftSettings: settings),
      .testTarget(
        name: "ReactorSQLiteTests",
        dependencies: ["ReactorSQLite", "ReactorCore", "ReactorOutbox", "ReactorTesting", "TestSupport"] + sqlite
          + httpTypes,
        swiftSettings: settings),
      .testTarget(
        name: "ReactorAsyncHTTPClientTests",
        dependencies: ["ReactorAsyncHTTPClient", "ReactorCore", "ReactorTesting", "TestSupport"] + asyncHTTPClient
          + httpTypes,
        swiftSettings: settings),
    ],
  swiftLanguageModes: [.v6]
)
