import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorOutbox

/// Follows redirects as the transports do.
struct Following: Transport {
  let transport: ScriptedTransport

  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    try await Redirect.following(request, body: body, limit: 5) { request, body in
      try await transport.send(request, body: body, progress: progress)
    }
  }
}

/// A layer that sends one request after the other.
private struct Sender {
  let transport = ScriptedTransport()
  let tags = EntityTags()
  let layer: LayerContext

  init() {
    layer = ModelLayer(baseURL: Bench.url, transport: Following(transport: transport), reachability: .always).layer
  }

  func send(_ method: HTTPRequest.Method, _ path: String = "/v1/a") async -> SentRequest {
    await layer.send(
      HTTPRequest(method: method, scheme: "https", authority: "api.example.com", path: path), body: nil)
  }

  /// Sends a request, and notes its answer with this entity tag.
  func accept(_ method: HTTPRequest.Method, tag: String?, at date: Date = OutcomePage.now) async {
    transport.answer("/v1/a", with: .response(.ok, fields: tag.map { [.eTag: $0] } ?? [:]))
    tags.note(await send(method), of: UUID(), madeFrom: nil, at: date)
  }

  func tag(notBefore date: Date? = nil) -> String? { tags.tag(of: "a", in: layer, notBefore: date)?.tag }
}

@Suite struct `The entity tag of a PUT` {
  private let sender = Sender()

  @Test func `the entity tag of a PUT is known until there is a newer response`() async {
    await sender.accept(.put, tag: "\"1\"")
    #expect(sender.tag() == "\"1\"")
    #expect(sender.tag(notBefore: OutcomePage.now) == "\"1\"")
    #expect(sender.tag(notBefore: OutcomePage.now + 1) == nil)
    await sender.accept(.put, tag: "\"2\"")
    #expect(sender.tag() == "\"2\"")
    sender.tags.removeAll()
    #expect(sender.tag() == nil)
  }

  @Test(arguments: [nil, "W/\"2\""]) func `the latest tag is sent, if it is strong`(_ tag: String?) async {
    await sender.accept(.put, tag: "\"1\"")
    await sender.accept(.put, tag: tag)
    #expect(sender.tag() == nil)
  }

  @Test(arguments: [HTTPRequest.Method.patch, .post, .delete])
  func `the entity tag of a PUT is out of date after another change`(_ method: HTTPRequest.Method) async {
    await sender.accept(.put, tag: "\"1\"")
    await sender.accept(method, tag: "\"2\"")
    #expect(sender.tag() == nil)
  }

  @Test func `the tag of a result at another URL is not sent`() async {
    sender.transport.answer("/v1/a", with: .response(.seeOther, fields: [.location: "/v1/b"]))
    sender.transport.answer("/v1/b", with: .response(.ok, fields: [.eTag: "\"b\""]))
    sender.tags.note(await sender.send(.put), of: UUID(), madeFrom: nil, at: OutcomePage.now)
    #expect(sender.tag() == nil)
  }
}

@Suite struct `A redirect to a result` {
  private let sender = Sender()

  private func isSeenElsewhere(
    _ method: HTTPRequest.Method, _ status: HTTPResponse.Status, then answer: ScriptedTransport.Answer
  ) async -> Bool {
    sender.transport.answer("/v1/a", with: .response(status, fields: [.location: "/v1/b"]))
    sender.transport.answer("/v1/b", with: answer)
    return await sender.send(method).isSeenElsewhere
  }

  @Test func `a redirect to a result says that the request was carried out, whatever became of the result`() async {
    #expect(await isSeenElsewhere(.post, .seeOther, then: .response(.notFound)))
    #expect(await isSeenElsewhere(.put, .seeOther, then: .failure(CocoaError(.fileNoSuchFile))))
    #expect(await isSeenElsewhere(.post, .found, then: .response(.ok)))
  }

  @Test func `a request that is sent to another URL carries no tag`() async {
    for status in [HTTPResponse.Status.temporaryRedirect, .permanentRedirect, .movedPermanently] {
      #expect(await !isSeenElsewhere(.post, status, then: .response(.ok)), "\(status)")
    }
    #expect(await !isSeenElsewhere(.put, .found, then: .response(.ok)))
    #expect(await !isSeenElsewhere(.post, .ok, then: .response(.ok)))
  }
}
