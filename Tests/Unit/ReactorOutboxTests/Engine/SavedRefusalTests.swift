import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorOutbox

@Suite("A refusal after a restart", .timeLimit(.minutes(2)))
struct SavedRefusalTests {
  private static let request = "POST api.example.com/v1/b"

  /// Returns the error of the only entry, in the process that was refused and in the next one.
  private func errors(after answer: ScriptedTransport.Answer) async throws -> [ReactorError] {
    let writer = Writer(storage: MemoryStore())
    writer.transport.answer("/v1/b", with: answer)
    let submission = try await writer.layer.submit(Add(name: "b"))
    await writer.wait(for: "refused")
    let thrown = await #expect(throws: ReactorError.self) { try await submission.answer() }
    #expect(thrown?.request == Self.request)
    var errors: [ReactorError] = []
    for program in [writer, writer.relaunched()] {
      if case .refused(let error)? = try await program.outbox.reload().first?.state { errors.append(error) }
    }
    return errors
  }

  @Test func `has the request, the server's words and the same text`() async throws {
    let errors = try await errors(
      after: .json(#"{"detail": "Body is too short"}"#, status: .unprocessableContent))
    #expect(errors.map(\.serverMessage) == ["Body is too short", "Body is too short"])
    #expect(
      errors.map(\.description) == Array(repeating: "\(Self.request): the server answered 422 with 31 bytes", count: 2))
  }

  @Test func `has the problem of the server, with its type`() async throws {
    let errors = try await errors(
      after: .json(
        #"{"type": "/probs/credit", "title": "Out of credit"}"#, status: .forbidden,
        fields: [.contentType: "application/problem+json"]))
    #expect(errors.map { $0.problem?.type } == ["/probs/credit", "/probs/credit"])
  }

  @Test(arguments: [(4_096, "with 4096 bytes"), (4_097, "with 4097 bytes, which were not saved")])
  func `says that a long body was not saved`(size: Int, text: String) async throws {
    let errors = try await errors(
      after: .response(.badRequest, body: Self.json(ofSize: size)))
    #expect(errors.last?.description == "\(Self.request): the server answered 400 \(text)")
    #expect(errors.last?.serverMessage == nil)
  }

  @Test func `has no body that is not JSON, which may repeat the credential`() async throws {
    let errors = try await errors(
      after: .response(.unprocessableContent, body: Data("no, Bearer token-of-ann".utf8)))
    #expect(
      errors.last?.description == "\(Self.request): the server answered 422 with 23 bytes, which were not saved")
  }

  private static func json(ofSize size: Int) -> Data {
    Data("{".utf8) + Data(repeating: 0x20, count: size - 2) + Data("}".utf8)
  }

  @Test func `of an earlier release says that its body was not saved`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store)
    writer.transport.answer("/v1/b", with: .json(#"{"detail": "no"}"#, status: .unprocessableContent))
    try await writer.layer.submit(Add(name: "b"))
    await writer.wait(for: "refused")
    var entry = try #require(try await saved(in: store))
    #expect(entry.outcome?.refusal != nil)
    entry.outcome?.refusal = nil
    let earlier = try entry.stored()
    #expect(earlier.bytes[16] == 1)
    _ = try await store.commit([.update(earlier)], in: .shared)
    let next = writer.relaunched()
    guard case .refused(let error)? = try await next.outbox.reload().first?.state else {
      return #expect(next.states == ["refused"])
    }
    #expect(error.description == "\(Self.request): the server answered 422; its body was not saved")
  }

  private func saved(in store: MemoryStore) async throws -> OutboxEntry? {
    try await store.contents(of: .shared).entries.first.map { try OutboxEntry(decoding: $0) }
  }

  private struct Large: Mutation {
    var text: String
    func request(_ known: Known) throws -> Resource { Resource("b", method: .post, body: Data(text.utf8)) }
  }

  @Test(arguments: [(555_000, false), (550_000, true)])
  func `is saved without the server's answer if the entry has no room for it`(length: Int, isKept: Bool) async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store) { $0.mutations = [Large.self] }
    writer.transport.answer(
      "/v1/b", with: ScriptedTransport.Answer.response(.badRequest, body: Self.json(ofSize: 4_096)))
    try await writer.layer.submit(Large(text: String(repeating: "x", count: length)))
    await writer.wait(for: "refused")
    let entry = try await saved(in: store)
    #expect(entry?.state == .refused && (entry?.outcome?.refusal != nil) == isKept)
  }
}
