// swift-tools-version: 6.3
import PackageDescription

// Features that a consumer may have on: `import ReactorCore` suffices for what its interface uses.
let settings: [SwiftSetting] = [
  .enableUpcomingFeature("InternalImportsByDefault"), .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "CoreOnly",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Reactor", path: "../../../..")],
  targets: [
    .executableTarget(
      name: "CoreOnly", dependencies: [.product(name: "ReactorCore", package: "Reactor")], swiftSettings: settings),
    // One program twice: with Reactor, and by hand. The difference is what Reactor weighs.
    .executableTarget(
      name: "OneResource", dependencies: [.product(name: "ReactorCore", package: "Reactor")], swiftSettings: settings),
    .executableTarget(name: "ByHand", swiftSettings: settings),
    // Products whose traits are off.
    .target(
      name: "WithoutTraits",
      dependencies: ["ReactorCore", "ReactorSQLite", "ReactorAsyncHTTPClient", "ReactorSealing"].map {
        .product(name: $0, package: "Reactor")
      }, swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
