#if AsyncHTTPClient
  import Foundation
  import ReactorAsyncHTTPClient
  import ReactorCore

  // The Swift code of ReactorAsyncHTTPClient.docc, which a test compares with it.

  private func makeBackend(_ api: URL) -> Backend {
    let backend = Backend(baseURL: api, transport: AsyncHTTPClientTransport())
    return backend
  }
#endif
