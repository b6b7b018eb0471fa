import HTTPTypes
import Hummingbird
import NIOCore
import ReactorInspector
import ServiceLifecycle

/// The paths for operators, on a port that only this machine can reach: metrics, and the inspector
/// if a password is set; and the prices, beside the pages and changes that clients get.
struct AdminRoutes: Sendable {
  let clients: ClientRoutes
  let prices: PriceRoutes
  let metrics: PrometheusText
  let inspector: Inspector?
  /// Sets the gauges that are read, and not reported.
  let measure: @Sendable () -> Void

  var router: Router<ClientContext> {
    let router = Router(context: ClientContext.self)
    router.get("metrics") { [metrics, measure] _, _ in
      measure()
      return Response(
        status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
        body: ResponseBody(byteBuffer: ByteBuffer(string: metrics.text)))
    }
    clients.addPages(to: router)
    prices.add(to: router)
    guard let inspector else { return router }
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
    return router
  }
}
