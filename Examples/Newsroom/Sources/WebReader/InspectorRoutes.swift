import Hummingbird
import NIOCore
import ReactorInspector
import ServiceLifecycle

/// The inspector, mounted.
struct InspectorRoutes: Sendable {
  let inspector: Inspector

  func add(to router: Router<BasicRequestContext>) {
    for path: RouterPath in ["inspector", "inspector/**"] {
      for method in [HTTPRequest.Method.get, .post] {
        router.on(path, method: method) { request, _ in
          let (response, body) = await inspector.respond(to: request.head)
          let bytes = body.cancelOnGracefulShutdown().map { ByteBuffer(bytes: $0) }
          return Response(
            status: response.status, headers: response.headerFields, body: ResponseBody(asyncSequence: bytes))
        }
      }
    }
  }
}
