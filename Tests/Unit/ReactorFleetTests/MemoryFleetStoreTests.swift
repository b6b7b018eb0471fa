import ReactorConformance
import ReactorFleet
import ReactorTesting
import Testing

@Suite("The fleet's store in memory", .timeLimit(.minutes(5)))
struct MemoryFleetStoreTests {
  @Test func `MemoryFleetStore keeps the contract`() async throws {
    try await FleetStoreConformance { MemoryFleetStore() }.run()
  }
}
