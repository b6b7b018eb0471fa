// swift-tools-version: 6.3
import PackageDescription

// A program that needs all that Reactor has behind traits.
let package = Package(
  name: "Traits",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Reactor", path: "../../../..", traits: ["Server"])],
  targets: [
    .executableTarget(
      name: "Traits",
      dependencies: [
        "ReactorCore", "ReactorSQLite", "ReactorAsyncHTTPClient", "ReactorValkey", "ReactorObservability",
        "ReactorSealing",
      ]
      .map { .product(name: $0, package: "Reactor") }),
    .testTarget(name: "TraitsTests", dependencies: ["Traits"]),
  ],
  swiftLanguageModes: [.v6]
)
