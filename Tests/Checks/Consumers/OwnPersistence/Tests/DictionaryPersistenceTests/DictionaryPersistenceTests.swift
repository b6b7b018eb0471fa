import DictionaryPersistence
import ReactorConformance
import Testing

@Suite struct `A persistence of somebody else` {
  @Test func `a persistence of somebody else keeps the contract`() async throws {
    try await PersistenceConformance { DictionaryPersistence() }.run()
  }
}
