import Foundation
import ReactorCore
import ReactorOutbox
import ReactorTesting
import TestSupport
import Testing

// The Swift code of ReactorOutbox.docc, which a test compares with it. The samples that decide what
// is lost are run.

@Suite("The samples of Working offline", .timeLimit(.minutes(2)))
struct WorkingOfflineTests {
  private func writer(_ answer: ScriptedTransport.Answer) -> Writer {
    let writer = Writer(storage: MemoryStore()) {
      $0.mutations = [AddComment.self]
      $0.sendsByItself = false
    }
    writer.transport.answer("/v1/articles/7/comments", with: answer)
    return writer
  }

  @Test(
    arguments: [
      (.json(#"{"message": "Too short"}"#, status: .unprocessableContent), "refused"),
      (.json("<html><body>Please log in</body></html>", fields: [.contentType: "text/html"]), "unresolved"),
      (.response(.serviceUnavailable, fields: [.retryAfter: "60"]), "waiting, backoff"),
    ] as [(ScriptedTransport.Answer, String)])
  func `a user who signs out is asked about each change that would be lost`(
    answer: ScriptedTransport.Answer, state: String
  ) async throws {
    let writer = writer(answer)
    try await writer.layer.submit(AddComment(article: 7, text: "Well said"))
    let asked = Shared<[String]>([])
    try await Dialog.$confirms.withValue({ text in
      asked.change { $0.append(text) }
      return false
    }) { try await signOut(writer.layer) }
    #expect(asked.value == ["1 changes were not accepted. Sign out anyway?"])
    #expect(writer.states == [state])
    try await Dialog.$confirms.withValue({ _ in true }) { try await signOut(writer.layer) }
    #expect(writer.states == [])
  }

  @Test func `a user whose changes are all accepted is signed out without a question`() async throws {
    let writer = writer(.json(#"{"id": 1, "text": "Well said"}"#, status: .created))
    try await writer.layer.submit(AddComment(article: 7, text: "Well said"))
    try await Dialog.$confirms.withValue({ text in
      Issue.record("asked: \(text)")
      return false
    }) { try await signOut(writer.layer) }
    #expect(writer.sent.count == 1 && writer.states == [])
  }

  @Test func `a command-line tool says what became of each change, also in the next process`() async throws {
    let writer = writer(.json(#"{"message": "Too short"}"#, status: .unprocessableContent))
    let line = "AddComment: not accepted: Too short"
    #expect(try await comment("x", on: 7, writer.layer) == [line])
    let next = writer.relaunched {
      $0.mutations = [AddComment.self]
      $0.sendsByItself = false
    }
    #expect(try await unaccepted(next.layer) == [line])
  }
}

private struct Comment: Codable, Sendable, Identifiable {
  var id: Int
  var text: String
  var rejection: String?
}

private enum Dialog {
  @TaskLocal static var confirms: @Sendable (String) -> Bool = { _ in true }
}

private struct Rejected: Error {
  var reason: String
}

private struct AddComment: Mutation {
  var id = TemporaryID()
  var article: Int
  var text: String

  func request(_ known: Known) throws -> Resource {
    try Resource("articles/\(article)/comments", method: .post, json: ["text": text])
  }

  func draft(_ drafts: inout Drafts) {
    drafts.change([Comment].self, at: "articles/\(article)/comments") { [id, text] list in
      guard !list.contains(where: { $0.id == id.int }) else { return }
      list.append(Comment(id: id.int, text: text))
    }
  }

  func settle(_ comment: Comment, _ settlement: inout Settlement) { settlement.identify(id, as: comment.id) }
}

extension AddComment {
  func check(_ comment: Comment) throws {
    if let reason = comment.rejection { throw Rejected(reason: reason) }
  }
}

extension AddComment {
  var lane: Lane { Lane(rawValue: "comments") }
}

private struct Rename: Mutation {
  var article: Int
  var title: String

  func request(_ known: Known) async throws -> Resource {
    var request = try Resource("articles/\(article)", method: .patch, json: ["title": title])
    request.headers[.ifMatch] = try await known.entityTag(of: "articles/\(article)")
    return request
  }
}

private func write(_ api: URL, _ support: URL, _ caches: URL, _ user: String) async throws {
  let outbox = OutboxConfiguration(
    storage: FileOutboxStorage(directory: support.appending(path: "outbox")),
    mutations: [AddComment.self])
  let layer = ModelLayer(
    baseURL: api, persistence: FilePersistence(directory: caches), scope: Scope(user),
    extensions: [.outbox(outbox)])

  try await layer.submit(AddComment(article: 7, text: "Well said"))
  try await show(layer)
}

private func upload(_ file: URL, to url: URL, _ layer: ModelLayer) async throws -> Data {
  let upload = OutboxRequest(url: url, form: [.file("photo", at: file, contentType: "image/jpeg")])
  let submission = try await layer.submit(upload, lane: "photos")
  return try await submission.answer()
}

private func show(_ layer: ModelLayer) async throws {
  let comments = layer.reactor([Comment].self)
  for await state in comments.states(for: "articles/7/comments") {
    show(state.value ?? [], pending: state.drafts)
  }
  for await entries in layer.outbox.states {
    for entry in entries {
      switch entry.state {
      case .waiting(.connectivity): mark(entry.id, "Waiting for a connection")
      case .waiting(.signIn): mark(entry.id, "Sign in to send it")
      case .refused(let error): mark(entry.id, error.serverMessage ?? "Not accepted: \(error)")
      case .unresolved: mark(entry.id, "It may have been sent. Look before you try again")
      default: mark(entry.id, "Sending")
      }
    }
  }
}

private func comment(_ text: String, on article: Int, _ layer: ModelLayer) async throws -> [String] {
  try await layer.submit(AddComment(article: article, text: text))
  await layer.outbox.drain(within: .seconds(10))
  await layer.outbox.stop()
  return try await unaccepted(layer)
}

func unaccepted(_ layer: ModelLayer) async throws -> [String] {
  try await layer.outbox.reload().map { entry in
    switch entry.state {
    case .refused(let error): "\(entry.name): not accepted: \(error.serverMessage ?? "\(error)")"
    case .unresolved: "\(entry.name): may have been sent; look before you retry it"
    default: "\(entry.name): not sent yet"
    }
  }
}

private func replace(_ drafts: inout Drafts, _ id: TemporaryID, _ article: Int, _ text: String) {
  drafts.replace([Comment].self, at: "articles/\(article)/comments") { [id, text] list in
    let list = list ?? []
    return list.contains { $0.id == id.int } ? list : list + [Comment(id: id.int, text: text)]
  }
}

private func answer(_ layer: ModelLayer) async throws {
  let submission = try await layer.submit(AddComment(article: 7, text: "Well said"))
  let comment = try await submission.answer()
  show([comment], pending: [])
}

private func signOut(_ layer: ModelLayer) async throws {
  await layer.outbox.drain(within: .seconds(10))
  let left = try await layer.outbox.reload().count
  if left == 0 || confirm("\(left) changes were not accepted. Sign out anyway?") {
    try await layer.signOut()
  }
}

private func show(_ comments: [Comment], pending: [UUID]) {}
private func mark(_ id: UUID, _ text: String) {}
private func confirm(_ text: String) -> Bool { Dialog.confirms(text) }
