import ReactorFleet
import ReactorTesting
import Testing

@Suite("The fleet's store in memory", .timeLimit(.minutes(5)))
struct MemoryFleetStoreTests {
  @Test func `it keeps the contract`() async throws {
    try await FleetStoreConformance { MemoryFleetStore() }.run()
  }
}
