import Hummingbird
import NewsClient
import ReactorCore
import ReactorFlux

/// What a page asks for, each a `POST` with JSON. The feeds tell what comes of it; the answer, whether it went well.
struct Commands: Sendable {
  let reader: NewsReader
  let power: PowerSwitch

  private struct Location: Decodable { var screen: String }
  private struct SignIn: Decodable { var name: String, password: String }
  private struct Keep: Decodable { var article: ArticleSummary, isKept: Bool }
  private struct Open: Decodable { var article: Article.ID }
  private struct Power: Decodable { var isLow: Bool }

  func add(to group: RouterGroup<BasicRequestContext>) {
    on("refresh", group) { (body: Location) in
      try await ScreenLocation.screen(at: body.screen)?.refresh(in: reader.model)
    }
    on("open", group) { (body: Open) in await reader.dispatcher.dispatch(.articleOpened, body.article) }
    on("keep", group) { (body: Keep) in try await reader.model.setKept(body.isKept, body.article) }
    on("sign-in", group) { (body: SignIn) in
      await reader.signIn(name: body.name, password: body.password)
      do {
        if let error = await reader.session.error { throw error }
      } catch ReactorError.server(let response, _) where response.status == .unauthorized {
        throw HTTPError(.forbidden, message: "That name and that password do not belong together.")
      }
    }
    on("sign-out", group) { (_: [String: String]) in try await reader.signOut() }
    on("dials", group) { (body: Dials.Change) in try await reader.model.change(body) }
    on("power", group) { (body: Power) in power.turn(on: body.isLow) }
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
