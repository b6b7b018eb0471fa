// swift-tools-version: 6.3
import PackageDescription

// An adapter to valkey-swift, for fleets on a cluster or behind Sentinel. A package of its own: the
// products of Reactor need no client but their own.
let package = Package(
  name: "ReactorValkeySwift",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [.library(name: "ReactorValkeySwift", targets: ["ReactorValkeySwift"])],
  dependencies: [
    .package(name: "Reactor", path: "../..", traits: ["Valkey"]),
    .package(url: "https://github.com/valkey-io/valkey-swift", from: "1.4.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
  ],
  targets: [
    .target(
      name: "ReactorValkeySwift",
      dependencies: [
        .product(name: "ReactorFleet", package: "Reactor"),
        .product(name: "ReactorValkey", package: "Reactor"),
        .product(name: "Valkey", package: "valkey-swift"),
        .product(name: "NIOCore", package: "swift-nio"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
