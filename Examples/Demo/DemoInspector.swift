import Foundation
import HTTPTypes
import ReactorCore
import ReactorInspector
import ReactorLoopback

/// The inspector of the demo's layer, on a free loopback port.
struct DemoInspector {
  private let server: LoopbackServer

  init(_ layer: ModelLayer) throws {
    let inspector = Inspector(layer)
    server = try LoopbackServer()
    server.start { Self.serve($0, inspector) }
  }

  var url: URL { server.url.appending(path: "inspector") }

  /// Stops the server and closes its connections, the live feeds of open pages too.
  ///
  /// - Returns: `false` if a connection does not end within ten seconds.
  @discardableResult func stop() -> Bool { server.stop() }

  /// Answers one request. The end of the connection is the end of the body.
  private static func serve(_ connection: Socket, _ inspector: Inspector) {
    var reader = RequestReader(socket: connection)
    guard let request = reader.next().map(HTTPRequest.init) else { return }
    let ended = Latch()
    let answer = spawnApart(on: nil) {
      let (response, body) = await inspector.respond(to: request)
      let fields = response.headerFields.map { ($0.name.rawName, $0.value) } + [("Connection", "close")]
      var isOpen = connection.send(ResponseHead.bytes(response.status.code, fields))
      var pieces = body.makeAsyncIterator()
      while isOpen, let piece = await pieces.next() { isOpen = connection.send(piece) }
      ended.open()
    }
    // A page that is left disconnects, which ends its live feed.
    if !connection.wait(for: ended) { answer.cancel() }
    // The task may still send on the connection, which is closed on return.
    ended.block()
  }
}

extension HTTPRequest {
  fileprivate init(_ request: LoopbackRequest) {
    self.init(
      method: Method(request.method) ?? .get, scheme: "http", authority: request["Host"], path: request.target)
    for (name, value) in request.headers {
      if let name = HTTPField.Name(name) { headerFields.append(HTTPField(name: name, value: value)) }
    }
  }
}
