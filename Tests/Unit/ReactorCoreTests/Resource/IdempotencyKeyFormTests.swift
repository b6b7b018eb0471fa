import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@Suite("The form of an idempotency key", .timeLimit(.minutes(1)))
struct IdempotencyKeyFormTests {
  /// The field that a server gets; `nil` if the request is refused.
  private func sent(_ key: String, _ form: Backend.IdempotencyKeyForm) async throws -> String? {
    let transport = ScriptedTransport { _, _ in .json("[]") }
    var backend = Backend(baseURL: Bench.url, transport: transport, reachability: .always)
    backend.idempotencyKeyForm = form
    var resource = Resource("orders", method: .post)
    resource.idempotencyKey = key
    let failure = await error { try await ModelLayer(backend: backend).send(resource) }
    guard failure == nil else {
      #expect(failure?.isInvalidResource == true)
      return nil
    }
    return HTTPField.Name("Idempotency-Key").flatMap { transport.requests.first?.request.headerFields[$0] }
  }

  @Test func `an idempotency key is bare by default, or a string of structured fields`() async throws {
    #expect(try await sent("a-1", .bare) == "a-1")
    #expect(try await sent("a-1", .structured) == "\"a-1\"")
    #expect(try await sent(#"a"b\c"#, .structured) == #""a\"b\\c""#)
    #expect(try await sent("é", .structured) == nil)
    #expect(try await sent("a\nb", .bare) == nil)
    #expect(try await sent("a\nb", .structured) == nil)
  }
}
