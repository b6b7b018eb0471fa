import Foundation
import ReactorAsyncHTTPClient
import ReactorCore
import ReactorObservability
import ReactorSQLite
import ReactorSealing
import ReactorValkey

// Each is there with the one trait.
let types: [Any.Type] = [
  AsyncHTTPClientTransport.self, SQLitePersistence.self, ValkeyStore.self, Observability.self, SealedPersistence.self,
]
print(types.count)
