import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@Suite struct `A change` {
  @Test func `a change is sent and not fetched, and the error says so before a request is made`() async throws {
    let bench = Bench(except: [.ownSteps])
    let post = Resource("note", method: .post)
    for policy in FetchPolicy.allCases {
      let refused = try #require(await error { try await bench.notes.fetch(post, policy: policy) })
      #expect(refused.isInvalidResource)
      #expect("\(refused)".contains("POST may change something; use send(_:)"))
    }
    #expect(await error { try await bench.notes.fetchResponse(post) }?.isInvalidResource == true)
    #expect(bench.transport.requests.isEmpty)
  }

  @Test func `a change is no read: that is fetched, whatever its method`() async throws {
    let bench = Bench(except: [.ownSteps])
    var search = Resource("search", method: .post)
    search.isReadOnly = true
    for resource in ["note", search] {
      let refused = try #require(await error { try await bench.notes.send(resource) })
      #expect(refused.isInvalidResource)
      #expect("\(refused)".contains("only reads; use fetch(_:)"))
    }
    #expect(bench.transport.requests.isEmpty)
  }

  @Test func `a change returns its model, or the response with it, or nothing`() async throws {
    let bench = Bench()
    bench.transport.answer(
      "/v1/notes", with: .json(Note(7, "new").json, status: .created, fields: [.location: "/v1/notes/7"]))
    let post = Resource("notes", method: .post)
    #expect(try await bench.notes.send(post) == Note(7, "new"))
    let response = try await bench.notes.sendResponse(post)
    #expect(response.status == .created && response.headers[.location] == "/v1/notes/7")
    #expect(response.model == Note(7, "new"))
    bench.transport.answer("/v1/notes/7", with: .response(.noContent))
    try await bench.layer.send(Resource("notes/7", method: .delete))
    #expect(bench.transport.requestCount == 3)
    #expect(try await bench.persistence?.entries(in: nil, url: nil).isEmpty == true)
  }

  @Test func `a change invalidates what only memory has, whatever its identity headers`() async throws {
    let bench = Bench(persistence: nil)
    bench.transport.answer("/v1/note", with: .json(Note(1, "before").json))
    var german = Resource("note", headers: [.acceptLanguage: "de"])
    german.identityHeaders = [.acceptLanguage]
    _ = try await bench.notes.fetch(german)
    bench.transport.answer("/v1/note", with: .json(Note(1, "posted").json), .json(Note(1, "after").json))
    _ = try await bench.notes.send(Resource("note", method: .post))
    #expect(try await bench.notes.fetch(german).text == "after")
  }
}
