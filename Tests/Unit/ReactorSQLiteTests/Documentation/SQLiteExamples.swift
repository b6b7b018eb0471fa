#if SQLite
  import Foundation
  import ReactorCore
  import ReactorOutbox
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

  private struct AddComment: Mutation {
    func request(_ known: Known) throws -> Resource { Resource("comments", method: .post) }
  }

  private func makeOutbox() throws -> OutboxConfiguration {
    let outbox = OutboxConfiguration(
      storage: try SQLiteOutboxStorage(path: "/var/lib/news/outbox.sqlite"), mutations: [AddComment.self])
    return outbox
  }
#endif
