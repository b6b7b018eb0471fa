import Foundation
import ReactorAsyncHTTPClient
import ReactorCore
import ReactorSQLite
import ReactorSealing

// Checked and never built: each line of the function uses something that needs a trait, and must
// say which to add.
func use(api: URL, backend: Backend, client: Int) async throws {
  _ = try ModelLayer(baseURL: api, persistence: .sqlite("news"))
  _ = try ModelLayer(baseURL: api, persistence: .sqlite("news", in: api), scope: "ada")
  _ = try ModelLayer(backend: backend, persistence: .sqlite("news"))
  _ = try SQLitePersistence(path: "news.sqlite")
  _ = try SQLitePersistence(path: "news.sqlite", limit: 1 << 20, countLimit: 10, synchronization: .full)
  _ = ModelLayer(baseURL: api, persistence: try SQLitePersistence(path: "news.sqlite"))
  _ = try await SQLitePersistence.verify(path: "news.sqlite")
  _ = try SQLiteOutboxStorage(path: "outbox.sqlite")
  _ = Sealing(keys: FileSealingKeys(directory: api))
  _ = AsyncHTTPClientTransport()
  _ = AsyncHTTPClientTransport(timeout: .seconds(15))
  _ = AsyncHTTPClientTransport(timeout: .seconds(15), maximumResponseSize: 1, maximumRedirects: 0, clock: .continuous)
  _ = AsyncHTTPClientTransport(client: client, timeout: .seconds(15))
  _ = ModelLayer(baseURL: api, transport: AsyncHTTPClientTransport())
}
