public import Foundation
import HTTPTypes
import Hummingbird
public import Logging
import NIOCore
public import ServiceLifecycle

/// One of the three APIs of a shop, reachable only from this machine.
///
/// - ``ShopAPI/catalogue``: `GET /products/{id}`, for everybody; fresh for a minute. `PATCH` with
///   `{"cents": 990}` changes the price.
/// - ``ShopAPI/stock``: `GET /stock/{id}`, for everybody; fresh for two seconds.
/// - ``ShopAPI/account``: `GET /account`, of the user whose bearer token it is; fresh for ten
///   seconds. Every token that begins with `user-` is valid.
///
/// `PUT /dials?delay=MILLISECONDS&failing=true` makes each of them slow or broken, and `GET /count`
/// says how often it was asked.
public struct ShopServer: Service {
  private let api: ShopAPI
  private let port: Int
  private let dials: ShopDials
  private let logger: Logger
  private let onRunning: @Sendable (URL) -> Void

  /// - Parameters:
  ///   - port: 0 for a free one.
  ///   - onRunning: is called once, when the server listens.
  public init(
    _ api: ShopAPI, port: Int = 0, dials: ShopDials = ShopDials(), logger: Logger,
    onRunning: @escaping @Sendable (URL) -> Void
  ) {
    self.api = api
    self.port = port
    self.dials = dials
    self.logger = logger
    self.onRunning = onRunning
  }

  public func run() async throws {
    let application = Application(
      router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
      onServerRunning: { channel in
        guard let port = channel.localAddress?.port, let url = URL(string: "http://127.0.0.1:\(port)") else { return }
        onRunning(url)
      }, logger: logger)
    try await application.run()
  }

  private var router: Router<BasicRequestContext> {
    let (router, api, dials) = (Router(), api, dials)
    router.put("dials") { request, _ in
      dials.turn(
        delay: request.uri.queryParameters["delay"].flatMap { Int($0) },
        isFailing: request.uri.queryParameters["failing"].map { $0 == "true" })
      return HTTPResponse.Status.noContent
    }
    router.get("count") { _, _ in "\(dials.requests)\n" }
    let path: RouterPath =
      switch api {
      case .catalogue: "products/:id"
      case .stock: "stock/:id"
      case .account: "account"
      }
    router.get(path) { request, context in
      guard try await dials.answers() else { throw HTTPError(.serviceUnavailable) }
      return answer(request, context)
    }
    guard api == .catalogue else { return router }
    router.patch(path) { request, context in
      struct Price: Decodable { var cents: Int }
      guard try await dials.answers() else { throw HTTPError(.serviceUnavailable) }
      let (id, price) = (
        try context.parameters.require("id", as: Int.self), try await request.decode(as: Price.self, context: context)
      )
      guard (1...10_000).contains(id) else { throw HTTPError(.notFound) }
      dials.setPrice(price.cents, of: id)
      return answer(request, context)
    }
    return router
  }

  private func answer(_ request: Request, _ context: BasicRequestContext) -> Response {
    let id = context.parameters.get("id").flatMap { Int($0) }
    var asking = ShopRequest(
      id: id, authorization: request.headers[.authorization], tag: request.headers[.ifNoneMatch])
    asking.cents = id.flatMap { dials.price(of: $0) }
    let answer = api.answer(asking, at: Date())
    let buffer = answer.body.map { ByteBuffer(string: $0) } ?? ByteBuffer()
    return Response(status: answer.status, headers: answer.fields, body: ResponseBody(byteBuffer: buffer))
  }
}
