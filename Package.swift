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

let package = Package(
  name: "Reactor",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "ReactorCore", targets: ["ReactorCore"]),
    .library(name: "ReactorTesting", targets: ["ReactorTesting"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0")
  ],
  targets: [
    .target(
      name: "ReactorCore",
      dependencies: httpTypes + [.target(name: "CReactorNetlink", condition: .when(platforms: [.linux]))],
      swiftSettings: settings),
    .target(name: "CReactorNetlink"),
    .target(
      name: "ReactorTesting", dependencies: ["ReactorCore"] + httpTypes, swiftSettings: settings),
    .target(
      name: "TestSupport", dependencies: ["ReactorCore", "ReactorTesting"] + httpTypes, path: "Tests/Support",
      swiftSettings: settings),
  ]
    + ["ReactorCoreTests", "Scenarios", "Races"].map { name in
      .testTarget(
        name: name, dependencies: ["ReactorCore", "ReactorTesting", "TestSupport"] + httpTypes,
        path: "Tests/\(name)", swiftSettings: settings)
    },
  swiftLanguageModes: [.v6]
)
