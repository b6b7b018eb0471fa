// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let server: [Target.Dependency] = [
  .product(name: "HTTPTypes", package: "swift-http-types"),
  .product(name: "Hummingbird", package: "hummingbird"),
  .product(name: "Logging", package: "swift-log"),
  .product(name: "NIOCore", package: "swift-nio"),
  .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
]
let reactor: [Target.Dependency] = [
  "ReactorCore", "ReactorFlux", "ReactorInspector", "ReactorLists", "ReactorLive", "ReactorMiddleware", "ReactorOutbox",
  "ReactorSQLite", "ReactorWrites",
].map {
  .product(name: $0, package: "Reactor")
}
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")

let package = Package(
  name: "newsroom",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "newsroom", targets: ["newsroom"]),
    .executable(name: "newsreader", targets: ["newsreader"]),
  ],
  dependencies: [
    // With the trait of the other packages, one build directory serves them all.
    .package(name: "Reactor", path: "../..", traits: ["Server"]),
    .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.0.0", traits: []),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
  ],
  targets: [
    .target(
      name: "NewsAPI", dependencies: server + [.product(name: "ReactorChangeFeed", package: "Reactor")],
      swiftSettings: settings),
    .target(name: "NewsClient", dependencies: reactor, swiftSettings: settings),
    .target(
      name: "WebReader",
      dependencies: server + [
        "NewsClient",
        .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
        .product(name: "ReactorCore", package: "Reactor"),
        .product(name: "ReactorFlux", package: "Reactor"),
        .product(name: "ReactorInspector", package: "Reactor"),
        .product(name: "ReactorLists", package: "Reactor"),
        .product(name: "ReactorLive", package: "Reactor"),
        .product(name: "ReactorOperators", package: "Reactor"),
        .product(name: "ReactorOutbox", package: "Reactor"),
      ],
      resources: [.copy("Page")], swiftSettings: settings),
    .executableTarget(
      name: "newsroom",
      dependencies: [
        "NewsAPI", "NewsClient", "WebReader",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ReactorInspector", package: "Reactor"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ], swiftSettings: settings),
    .executableTarget(
      name: "newsreader", dependencies: ["NewsClient", .product(name: "ReactorCore", package: "Reactor")],
      swiftSettings: settings),
    .testTarget(
      name: "NewsroomTests",
      dependencies: [
        "NewsAPI", "NewsClient", "WebReader", httpTypes,
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ReactorChangeFeed", package: "Reactor"),
        .product(name: "ReactorCore", package: "Reactor"),
        .product(name: "ReactorFlux", package: "Reactor"),
        .product(name: "ReactorLists", package: "Reactor"),
        .product(name: "ReactorLive", package: "Reactor"),
        .product(name: "ReactorOutbox", package: "Reactor"),
        .product(name: "ReactorTesting", package: "Reactor"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ], swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
