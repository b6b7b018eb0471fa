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
let signals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")
let configuration: Target.Dependency = .product(name: "Configuration", package: "swift-configuration")

let package = Package(
  name: "shop-gateway",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "gateway", targets: ["gateway"]),
    .executable(name: "shop", targets: ["shop"]),
  ],
  dependencies: [
    // With the trait of the other packages, one build directory serves them all.
    .package(name: "Reactor", path: "../..", traits: ["Server"]),
    .package(url: "https://github.com/apple/swift-configuration", from: "1.0.0", traits: []),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.7.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.0.0", traits: []),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
  ],
  targets: [
    .target(name: "ShopAPIs", dependencies: server, swiftSettings: settings),
    .target(
      name: "ShopGateway",
      dependencies: server + [
        configuration,
        .product(name: "CoreMetrics", package: "swift-metrics"),
        .product(name: "HummingbirdCore", package: "hummingbird"),
        .product(name: "ReactorAsyncHTTPClient", package: "Reactor"),
        .product(name: "ReactorChangeFeed", package: "Reactor"),
        .product(name: "ReactorCore", package: "Reactor"),
        .product(name: "ReactorFleet", package: "Reactor"),
        .product(name: "ReactorInspector", package: "Reactor"),
        .product(name: "ReactorMiddleware", package: "Reactor"),
        .product(name: "ReactorObservability", package: "Reactor"),
        .product(name: "ReactorSQLite", package: "Reactor"),
        .product(name: "ReactorValkey", package: "Reactor"),
      ], swiftSettings: settings),
    .executableTarget(
      name: "gateway",
      dependencies: [
        "ShopGateway", configuration, signals,
        .product(name: "CoreMetrics", package: "swift-metrics"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ], swiftSettings: settings),
    .executableTarget(
      name: "shop",
      dependencies: [
        "ShopAPIs", signals,
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ], swiftSettings: settings),
    .testTarget(
      name: "GatewayTests",
      dependencies: [
        "ShopAPIs", "ShopGateway", configuration,
        .product(name: "CoreMetrics", package: "swift-metrics"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ReactorAsyncHTTPClient", package: "Reactor"),
        .product(name: "ReactorCore", package: "Reactor"),
        .product(name: "ReactorLive", package: "Reactor"),
        .product(name: "ServerSentEvents", package: "Reactor"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ], swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
