import Foundation
import Hummingbird
import NewsClient
import ReactorCore
import ReactorFlux
import ReactorLists
import ReactorOutbox

/// The commands of a page, each a `POST` with JSON. The answer says whether the command succeeded.
/// Its effects arrive in the feeds.
struct Commands: Sendable {
  let reader: NewsReader
  let switches: Switches
  let windows: Windows

  private struct Location: Decodable { var screen: String, window: String? }
  private struct Scroll: Decodable { var window: String }
  private struct Look: Decodable { var window: String, text: String }
  private struct SignIn: Decodable { var name: String, password: String }
  private struct Keep: Decodable { var article: ArticleSummary, isKept: Bool }
  private struct Open: Decodable { var article: Article.ID }
  private struct Comment: Decodable { var article: Article.ID, text: String }
  private struct Deletion: Decodable { var article: Article.ID, comment: Int, reference: String? }
  private struct Change: Decodable { var id: UUID }
  private struct SignOut: Decodable { var discardsUnsent: Bool? }
  private struct Power: Decodable { var isLow: Bool }
  private struct Offline: Decodable { var isOffline: Bool }

  func add(to group: RouterGroup<BasicRequestContext>) {
    addReading(to: group)
    addWriting(to: group)
    addSession(to: group)
    on("dials", group) { (body: Dials.Change) in try await reader.model.change(body) }
    on("power", group) { (body: Power) in switches.power.turn(on: body.isLow) }
    on("offline", group) { (body: Offline) in switches.offline.turn(on: body.isOffline) }
  }

  private func addReading(to group: RouterGroup<BasicRequestContext>) {
    on("refresh", group) { (body: Location) in
      guard let screen = ScreenLocation.screen(at: body.screen) else { return }
      let model = await reader.model
      async let comments: Void = refreshComments(of: screen.article, in: model)
      try await screen.refresh(in: model, windows[body.window])
      await comments
    }
    // Failures are in the states.
    on("older", group) { (body: Scroll) in _ = try? await windows[body.window]?.list?.loadNext() }
    on("newer", group) { (body: Scroll) in _ = try? await windows[body.window]?.list?.loadPrevious() }
    on("look", group) { (body: Look) in windows[body.window]?.look(for: Window.Query(text: body.text, page: 1)) }
    on("open", group) { (body: Open) in await reader.dispatcher.dispatch(.articleOpened, body.article) }
  }

  /// Adds the user's writes. Each is answered when it is saved, sent or not.
  private func addWriting(to group: RouterGroup<BasicRequestContext>) {
    on("keep", group) { (body: Keep) in try await reader.model.setKept(body.isKept, body.article) }
    on("comment", group) { (body: Comment) in
      guard let user = await reader.session.user else { throw HTTPError(.forbidden, message: "Sign in to comment.") }
      _ = try await reader.model.comment(body.text, on: body.article, by: user)
    }
    on("delete-comment", group) { (body: Deletion) in
      try await reader.model.deleteComment(body.comment, reference: body.reference, of: body.article)
    }
    on("retry", group) { (body: Change) in
      guard await reader.model.layer.outbox.retry(body.id) else { throw Self.hasGone }
    }
    on("discard", group) { (body: Change) in
      let outbox = await reader.model.layer.outbox
      if await outbox.withdraw(body.id) { return }
      guard await outbox.discard(body.id) else { throw Self.hasGone }
    }
  }

  private static let hasGone = HTTPError(.conflict, message: "That change has been sent meanwhile.")

  private func addSession(to group: RouterGroup<BasicRequestContext>) {
    on("sign-in", group) { (body: SignIn) in
      await reader.signIn(name: body.name, password: body.password)
      do {
        if let error = await reader.session.error { throw error }
      } catch ReactorError.server(let response, _) where response.status == .unauthorized {
        throw HTTPError(.forbidden, message: "That name and that password do not belong together.")
      } catch let error as SomebodyElse {
        throw HTTPError(.forbidden, message: "\(error.user.name) is signed in, and has to sign out first.")
      }
    }
    on("sign-out", group) { (body: SignOut) in
      do {
        try await reader.signOut(discardsUnsent: body.discardsUnsent ?? false)
      } catch let error as UnsentChanges {
        throw HTTPError(.conflict, message: "\(error.count)")
      }
    }
  }

  /// Asks for the comments again. A failure is in their states.
  private func refreshComments(of article: Article.ID?, in model: NewsModel) async {
    guard let article else { return }
    _ = try? await model.comments.fetchFromNetwork(.comments(article))
  }

  private func on<Body: Decodable & Sendable>(
    _ name: RouterPath, _ group: RouterGroup<BasicRequestContext>,
    _ run: @escaping @Sendable (Body) async throws -> Void
  ) {
    group.post(name) { request, context in
      let body = try await request.decode(as: Body.self, context: context)
      do {
        try await run(body)
      } catch let error as HTTPError {
        throw error
      } catch {
        throw HTTPError(.badGateway, message: ErrorText.of(error))
      }
      return HTTPResponse.Status.noContent
    }
  }
}
