import Foundation
import ReactorCore
import ReactorOutbox

// The Swift code of ReactorOutbox.docc, which a test compares with it.

private struct Comment: Codable, Sendable, Identifiable {
  var id: Int
  var text: String
  var rejection: String?
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
      case .refused(let error): mark(entry.id, "Not accepted: \(error)")
      case .unresolved: mark(entry.id, "It may have been sent. Look before you try again")
      default: mark(entry.id, "Sending")
      }
    }
  }
}

private func answer(_ layer: ModelLayer) async throws {
  let submission = try await layer.submit(AddComment(article: 7, text: "Well said"))
  let comment = try await submission.answer()
  show([comment], pending: [])
}

private func signOut(_ layer: ModelLayer) async throws {
  let left = await layer.outbox.drain(within: .seconds(10))
  if left == 0 || confirm("\(left) changes were not sent. Sign out anyway?") {
    try await layer.signOut()
  }
}

private func show(_ comments: [Comment], pending: [UUID]) {}
private func mark(_ id: UUID, _ text: String) {}
private func confirm(_ text: String) -> Bool { true }
