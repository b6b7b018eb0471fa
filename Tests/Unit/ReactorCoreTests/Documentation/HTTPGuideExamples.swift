import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization
import TestSupport
import Testing

// The Swift code of the guides about searches, messages and limits in ReactorCore.docc, which a
// test compares with it.

/// The declarations that the guides take as given.
private enum HTTPGuide {
  struct Filter: Codable, Sendable {
    let city: String
    let tags: [String]
  }

  struct Contact: Codable, Hashable, Sendable { let id: Int }

  final class Log: Sendable {
    let lines = Shared<[String]>([])
    func warning(_ line: String) { lines.change { $0.append(line) } }
  }
}

// MARK: Searches with a body

extension HTTPGuide {
  static func search(_ contacts: Reactor<[Contact]>) async throws -> [Contact] {
    let filter = Filter(city: "Bern", tags: ["press"])
    let search = try Resource("contacts", method: .query, json: filter)
    let found = try await contacts.fetch(search)
    return found
  }

  static func search(for text: String) -> Resource {
    let byName = Resource("contacts", method: .query, form: ["q": text])
    return byName
  }

  static func live(_ contacts: Reactor<[Contact]>, _ text: String) async -> LiveResource<[Contact]> {
    let results = await LiveResource(contacts, search(for: text))
    return results
  }

  static func falling(_ filter: Filter) throws -> Resource {
    var search = try Resource("contacts", method: .query, json: filter)
    search.fallbackMethod = .post
    return search
  }
}

// MARK: Errors that people understand

extension HTTPGuide {
  struct Form {
    var banner: String?
    var messages: [String: String] = [:]

    mutating func post(_ comment: Resource, to layer: ModelLayer) async {
      do {
        try await layer.send(comment)
      } catch {
        banner = error.serverMessage ?? "The comment could not be posted."
        for field in error.fieldErrors { messages[field.path] = field.message }
      }
    }
  }

  static func pay(_ order: Resource, _ layer: ModelLayer, offer: (Int) -> Void) async throws {
    func offerToPay(from balance: Int) { offer(balance) }
    do { try await layer.send(order) } catch {
      if let problem = error.problem, problem.type == "https://example.com/probs/out-of-credit" {
        let balance = try problem.member("balance", as: Int.self)
        offerToPay(from: balance ?? 0)
      }
    }
  }
}

// MARK: Being a polite client

extension HTTPGuide {
  static func notices(_ layer: ModelLayer, _ log: Log) {
    layer.observeEvents(for: log) { log, event in
      if case .deprecated(let notice) = event.kind { log.warning("\(event.key): \(notice)") }
    }
  }

  static func left(_ stories: Reactor<[Contact]>) async throws -> Int? {
    let page = try await stories.fetchResponse("stories")
    let left = page.rateLimits.map(\.remaining).min()
    return left
  }

  static func ignoring() -> ReactorConfiguration {
    var configuration = ReactorConfiguration()
    configuration.retry.followsRateLimit = false
    return configuration
  }
}

@Suite("The guides about this year's HTTP", .timeLimit(.minutes(5)))
struct HTTPGuideTests {
  @Test func `search, and fall back to another method`() async throws {
    let bench = Bench(
      transport: ScriptedTransport { request, _ in
        request.method == .query && request.path == "/v1/old" ? .response(.notImplemented) : .json(#"[{"id":1}]"#)
      })
    let contacts = bench.layer.reactor([HTTPGuide.Contact].self)
    #expect(try await HTTPGuide.search(contacts).map(\.id) == [1])
    #expect(try HTTPGuide.falling(.init(city: "Bern", tags: [])).fallbackMethod == .post)
    let results = await HTTPGuide.live(contacts, "a b")
    await results.wait { $0.value?.count == 1 }
    #expect(bench.transport.requests.last?.body == Data("q=a+b".utf8))
  }

  @Test func `show the server's messages beside their fields`() async throws {
    let bench = Bench()
    let problem = ##"{"title":"Not posted","errors":[{"detail":"is empty","pointer":"#/text"}]}"##
    bench.transport.answer(
      "/v1/comments",
      with: .response(
        .unprocessableContent, headers: [.contentType: "application/problem+json"], body: Data(problem.utf8)))
    var form = HTTPGuide.Form()
    await form.post(Resource("comments", method: .post), to: bench.layer)
    #expect(form.banner == "Not posted" && form.messages == ["text": "is empty"])
    let credit = #"{"type":"https://example.com/probs/out-of-credit","balance":30}"#
    bench.transport.answer(
      "/v1/orders",
      with: .response(.forbidden, headers: [.contentType: "application/problem+json"], body: Data(credit.utf8)))
    let offered = Shared(0)
    try await HTTPGuide.pay(Resource("orders", method: .post), bench.layer) { sum in offered.change { $0 = sum } }
    #expect(offered.value == 30)
  }

  @Test func `notice a deprecation and read a limit`() async throws {
    let bench = Bench()
    var fields = HTTPFields()
    for (name, value) in [("Deprecation", "@1688169600"), ("RateLimit", #""m";r=3;t=9"#)] {
      if let name = HTTPField.Name(name) { fields[name] = value }
    }
    bench.transport.answer("/v1/stories", with: .json("[]", headers: fields))
    let log = HTTPGuide.Log()
    HTTPGuide.notices(bench.layer, log)
    #expect(try await HTTPGuide.left(bench.layer.reactor()) == 3)
    await bench.layer.flushEvents()
    #expect(log.lines.value.count == 1)
    #expect(!HTTPGuide.ignoring().retry.followsRateLimit)
  }
}
