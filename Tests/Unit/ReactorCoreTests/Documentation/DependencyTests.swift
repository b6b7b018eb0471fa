import Foundation
import TestSupport
import Testing

/// The imports of a module say which modules it may use.
@Suite("Dependencies") struct DependencyTests {
  @Test func `ReactorFlux depends on nothing, Foundation included`() throws {
    let allowed: Set<Substring> = ["Synchronization", "Darwin", "Glibc", "Musl", "Android"]
    let imported = try Repository.swiftFiles(in: "Sources/ReactorFlux").flatMap { path in
      try Repository.text(of: path).matches(of: #/(?m)^\s*(?:\w+ )?import (\w+)/#).map(\.1)
    }
    #expect(imported.contains("Synchronization"))
    #expect(Set(imported).subtracting(allowed).isEmpty)
  }

  @Test func `FastJSON depends only on Foundation`() throws {
    let imported = try Repository.swiftFiles(in: "Sources/FastJSON").flatMap { path in
      try Repository.text(of: path).matches(of: #/(?m)^\s*(?:\w+ )?import (\w+)/#).map(\.1)
    }
    #expect(Set(imported) == ["Foundation", "Synchronization"])
  }
}
