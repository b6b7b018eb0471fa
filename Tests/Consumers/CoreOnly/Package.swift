// swift-tools-version: 6.3
import PackageDescription

let package = Package(
  name: "CoreOnly",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Reactor", path: "../../..")],
  targets: [
    .executableTarget(name: "CoreOnly", dependencies: [.product(name: "ReactorCore", package: "Reactor")])
  ],
  swiftLanguageModes: [.v6]
)
