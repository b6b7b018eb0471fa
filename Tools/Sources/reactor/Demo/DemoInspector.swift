import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ReactorCore
import ReactorInspector
import ServiceLifecycle

/// The inspector of the demo's layer, on a free loopback port.
struct DemoInspector {
  private let server: LoopbackServer

  static func start(_ layer: ModelLayer) async throws -> DemoInspector {
    let inspector = Inspector(layer)
    let router = Router()
    for path: RouterPath in ["inspector", "inspector/**"] {
      for method in [HTTPRequest.Method.get, .post] {
        router.on(path, method: method) { request, _ in
          let (response, body) = await inspector.respond(to: request.head)
          // An open page's live feed must not delay the server's shutdown.
          let bytes = body.cancelOnGracefulShutdown().map { ByteBuffer(bytes: $0) }
          return Response(
            status: response.status, headers: response.headerFields, body: ResponseBody(asyncSequence: bytes))
        }
      }
    }
    return DemoInspector(server: try await .start(router))
  }

  var url: URL { server.url.appending(path: "inspector") }

  func stop() async { await server.stop() }
}
