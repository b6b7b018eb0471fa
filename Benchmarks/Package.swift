// swift-tools-version: 6.3
import PackageDescription

let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Reactor", path: "..", traits: [])],
  targets: [
    .executableTarget(
      name: "FluxDispatch", dependencies: [.product(name: "ReactorFlux", package: "Reactor")],
      swiftSettings: [
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"), .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"), .enableUpcomingFeature("MemberImportVisibility"),
      ])
  ],
  swiftLanguageModes: [.v6])
