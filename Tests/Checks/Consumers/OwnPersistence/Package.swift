// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("InternalImportsByDefault"), .enableUpcomingFeature("MemberImportVisibility"),
]

// A store by another author, who can use only public declarations. The trait belongs to the
// directory in which it is built.
let package = Package(
  name: "OwnPersistence",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Reactor", path: "../../../..", traits: ["SQLite"])],
  targets: [
    .target(
      name: "DictionaryPersistence", dependencies: [.product(name: "HTTPCaching", package: "Reactor")],
      swiftSettings: settings),
    .testTarget(
      name: "DictionaryPersistenceTests",
      dependencies: ["DictionaryPersistence", .product(name: "ReactorConformance", package: "Reactor")],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
