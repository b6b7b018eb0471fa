import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorTesting
import Testing

// The Swift code of ReactorCore.docc/Transports.md, which a test compares with it.

/// A transport of somebody's own.
private struct MyTransport: Transport {
  let transport: URLSessionTransport

  init(timeout: Duration, clock: any Clock<Duration>) {
    transport = URLSessionTransport(timeout: timeout, clock: clock)
  }

  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    try await transport.send(request, body: body, progress: progress)
  }
}

@Suite(.disabled("it is compiled, for the guide"))
struct `The guide to transports` {
  struct Bar { var fraction: Double? }

  func backend(_ api: URL) -> Backend {
    let backend = Backend(baseURL: api, transport: URLSessionTransport(timeout: .seconds(15)))
    return backend
  }

  @Test(.timeLimit(.minutes(2))) func `my transport keeps the contract`() async {
    await TransportConformance { MyTransport(timeout: $0.timeout, clock: $0.clock) }.run()
  }

  func show(_ reactor: Reactor<String>) async {
    var bar = Bar()
    for await state in reactor.states(for: "articles") {
      bar.fraction = state.progress?.fractionCompleted
    }
  }

  func show(_ piece: ArraySlice<UInt8>) {}

  func read(_ backend: Backend, _ prompt: String) async throws {
    let stream = try await backend.stream(for: Resource("chat", method: .post, json: ["prompt": prompt]))
    for try await piece in stream.body { show(piece) }
  }

  func upload(_ file: URL) throws -> Resource {
    let upload = try Resource("photos", method: .post).body(contentsOf: file)
    return upload
  }
}
