// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

// A program for each parser of bytes from outside; its `main` is libFuzzer's. Built by `run`, which
// sets the flags.
let package = Package(
  name: "reactor-fuzz",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "Reactor", path: "../../..", traits: ["Valkey"]),
    .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
  ],
  targets: [.target(name: "FuzzSupport", swiftSettings: settings)]
    + ["JSON", "Decoding", "Fields", "Records", "Entries", "Cassettes", "ActionLogs"].map { name in
      .executableTarget(
        name: "Fuzz\(name)",
        dependencies: [
          "FuzzSupport",
          .product(name: "FastJSON", package: "Reactor"),
          .product(name: "HTTPCaching", package: "Reactor"),
          .product(name: "HTTPCachingProxy", package: "Reactor"),
          .product(name: "ReactorCore", package: "Reactor"),
          .product(name: "ReactorOutbox", package: "Reactor"),
          .product(name: "ReactorFlux", package: "Reactor"),
          .product(name: "ReactorTesting", package: "Reactor"),
          .product(name: "HTTPTypes", package: "swift-http-types"),
        ], swiftSettings: settings)
    } + [
      .executableTarget(
        name: "FuzzEvents",
        dependencies: ["FuzzSupport", .product(name: "ServerSentEvents", package: "Reactor")], swiftSettings: settings),
      .executableTarget(
        name: "FuzzReplies",
        dependencies: [
          "FuzzSupport",
          .product(name: "ReactorValkey", package: "Reactor"),
          .product(name: "NIOCore", package: "swift-nio"),
        ], swiftSettings: settings),
    ],
  swiftLanguageModes: [.v6]
)
