// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "reactor-benchmarks",
  platforms: [.macOS(.v15)],
  products: [.executable(name: "reactor-bench", targets: ["reactor-bench"])],
  dependencies: [
    .package(name: "Reactor", path: "..", traits: ["Server"]),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.2.0"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.0.0"),
  ],
  targets: [
    .executableTarget(
      name: "reactor-bench",
      dependencies: [
        "CMeasuring",
        .product(name: "FastJSON", package: "Reactor"),
        .product(name: "HTTPCachingProxy", package: "Reactor"),
        .product(name: "ReactorChangeFeed", package: "Reactor"),
        .product(name: "ReactorCore", package: "Reactor"),
        .product(name: "ReactorFleet", package: "Reactor"),
        .product(name: "ReactorFlux", package: "Reactor"),
        .product(name: "ReactorLists", package: "Reactor"),
        .product(name: "ReactorLive", package: "Reactor"),
        .product(name: "ReactorObservability", package: "Reactor"),
        .product(name: "ReactorOutbox", package: "Reactor"),
        .product(name: "ReactorSQLite", package: "Reactor"),
        .product(name: "ReactorSealing", package: "Reactor"),
        .product(name: "ReactorValkey", package: "Reactor"),
        .product(name: "ReactorWrites", package: "Reactor"),
        .product(name: "ServerSentEvents", package: "Reactor"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
      ],
      path: "Sources/ReactorBench", swiftSettings: settings),
    // Counts allocations, and puts the process on one processor.
    .target(name: "CMeasuring"),
  ],
  swiftLanguageModes: [.v6])
