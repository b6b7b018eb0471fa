#if SQLite
  import Foundation
  import ReactorCore
  import ReactorSQLite

  // The Swift code of ReactorSQLite.docc, which a test compares with it.

  private func makeLayer(_ api: URL) throws -> ModelLayer {
    let news = try ModelLayer(baseURL: api, persistence: .sqlite("com.example.news"))
    return news
  }

  private func makeLayer(at api: URL) throws -> ModelLayer {
    let persistence = try SQLitePersistence(
      path: "/var/cache/news/records.sqlite", limit: 64 << 20, synchronization: .full)
    let layer = ModelLayer(backend: Backend(baseURL: api), persistence: persistence)
    return layer
  }
#endif
