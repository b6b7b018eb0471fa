// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "reactor-tools",
  platforms: [.macOS(.v15)],
  products: [.executable(name: "reactor", targets: ["reactor"])],
  dependencies: [
    // With the trait of the other packages, one build directory serves them all.
    .package(name: "Reactor", path: "..", traits: ["Server"]),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
  ],
  targets: [
    .executableTarget(
      name: "reactor",
      dependencies: [
        .product(name: "HTTPCachingProxy", package: "Reactor"),
        .product(name: "ReactorChangeFeed", package: "Reactor"),
        .product(name: "ReactorCore", package: "Reactor"),
        .product(name: "ReactorFleet", package: "Reactor"),
        .product(name: "ReactorOutbox", package: "Reactor"),
        .product(name: "ReactorSQLite", package: "Reactor"),
        .product(name: "ReactorValkey", package: "Reactor"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ], swiftSettings: settings),
    // An HTTP/1 client that writes bytes as they are, for both.
    .target(
      name: "Wire",
      dependencies: [
        .product(name: "ReactorTesting", package: "Reactor"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ], path: "Tests/Wire", swiftSettings: settings),
    // Our client of event streams, for the servers of others (make seen).
    .executableTarget(
      name: "EventReader",
      dependencies: [
        .product(name: "ReactorCore", package: "Reactor"),
        .product(name: "ServerSentEvents", package: "Reactor"),
      ], path: "Tests/EventReader", swiftSettings: settings),
    // The built command, run as a process.
    .target(name: "CommandSupport", path: "Tests/Support", swiftSettings: settings),
    .testTarget(
      name: "CommandTests",
      dependencies: [
        "reactor", "Wire", "CommandSupport",
        .product(name: "ReactorCore", package: "Reactor"),
        .product(name: "ReactorLive", package: "Reactor"),
        .product(name: "ReactorOutbox", package: "Reactor"),
        .product(name: "ReactorSQLite", package: "Reactor"),
        .product(name: "ReactorTesting", package: "Reactor"),
        .product(name: "ServerSentEvents", package: "Reactor"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ], swiftSettings: settings),
    .testTarget(
      name: "ProxyTests",
      dependencies: [
        "reactor", "Wire",
        .product(name: "HTTPCachingProxy", package: "Reactor"),
        .product(name: "ReactorChangeFeed", package: "Reactor"),
        .product(name: "ReactorCore", package: "Reactor"),
        .product(name: "ReactorTesting", package: "Reactor"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ], swiftSettings: settings),
    // Kills processes, so nothing else runs beside it.
    .testTarget(
      name: "OutboxKillTests",
      dependencies: [
        "reactor", "CommandSupport",
        .product(name: "ReactorCore", package: "Reactor"),
        .product(name: "ReactorOutbox", package: "Reactor"),
        .product(name: "ReactorSQLite", package: "Reactor"),
        .product(name: "ReactorTesting", package: "Reactor"),
      ], swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
