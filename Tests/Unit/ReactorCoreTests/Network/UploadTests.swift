import Foundation
import ReactorTesting
import ReactorWrites
import TestSupport
import Testing

@testable import ReactorCore

@Suite(.timeLimit(.minutes(5))) struct `An upload by URLSession` {
  private let trial = UploadTrial(URLSessionTransport())

  @Test func `sends fields, data and files, and reports its progress in order`() async throws {
    try await trial.sendsEverything(fileSize: 20 << 20)
  }

  @Test func `sends bodies of every size`() async throws { try await trial.sendsEverySize() }

  @Test func `ends with the answer of a server that refuses it by its head`() async throws {
    try await trial.endsWithAnEarlyAnswer()
  }

  @Test func `sends the same bytes again, although the file is gone`() async throws {
    try await trial.sendsTheSameBytesAgain()
  }

  @Test func `sends nothing if a file is missing, and says which`() async throws {
    try await trial.refusesAMissingFile()
  }

  @Test func `reports nothing more when the caller is cancelled`() async throws {
    try await trial.endsWhenCancelled()
  }
}

@Suite(.timeLimit(.minutes(5))) struct `An upload` {
  @Test func `that only reads is refused, whatever its method`() async throws {
    let bench = Bench(except: [.ownSteps])
    for method in [HTTPRequest.Method.get, .post] {
      var upload = Resource("photos", method: method, form: [.field("a", "b")])
      upload.isReadOnly = true
      let refused = try #require(await error { try await bench.notes.fetch(upload) })
      #expect(refused.isInvalidResource && "\(refused)".contains("a form is uploaded"))
    }
    #expect(bench.transport.requests.isEmpty)
  }

  @Test func `has the content type of its form, whatever its header fields say`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/photos", with: .response(.noContent))
    try await bench.layer.send(Resource("photos", headers: [.contentType: "text/plain"], form: [.field("a", "b")]))
    let request = try #require(bench.transport.requests.first)
    let type = try #require(request.request.headerFields[.contentType])
    let parts = try MultipartBody(try #require(request.body), contentType: type).parts
    #expect(parts.map(\.name) == ["a"] && parts.map(\.bytes) == [Data("b".utf8)])
  }

  @Test func `may show a draft`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/notes", with: .response(.noContent))
    try await bench.notes.save(Note(1, "old"), for: "note")
    let upload = Resource("notes", form: [.field("text", "new")])
    try await bench.notes.mutate("note", by: upload) { $0 = Note(1, "new") }
    #expect(bench.notes.cached("note")?.text == "new")
    #expect(bench.transport.requests.first?.request.headerFields[.contentType]?.hasPrefix("multipart/") == true)
  }

  @Test func `with a body of a middleware sends that one, not the file`() async throws {
    struct Replacing: TransportMiddleware {
      func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
        try await next(request, body.map { Data($0.reversed()) })
      }
    }
    try await withTemporaryDirectory { directory in
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      let file = directory.appending(path: "a")
      try Data("abc".utf8).write(to: file)
      try await MockServer.run { _ in
        .status(204)
      } body: { server in
        let layer = ModelLayer(backend: Backend(baseURL: server.url, middlewares: [Replacing()]))
        try await layer.send(Resource("photos", form: [.file("photo", at: file)]))
        let request = try #require(server.requests.first)
        let parts = try MultipartBody(Data(request.body.reversed()), contentType: request["Content-Type"] ?? "").parts
        #expect(parts.map(\.bytes) == [Data("abc".utf8)])
      }
    }
  }
}

@Suite struct `Progress of a request` {
  private let start = TransferProgress(stage: .sending, sent: 0, toSend: 100_000)

  /// Returns what a caller hears.
  private func heard(_ reports: [TransferProgress]) async throws -> [TransferProgress] {
    let heard = Shared<[TransferProgress]>([])
    try await TransferReport.steps(to: { progress in heard.change { $0.append(progress) } }) {
      report async throws(ReactorError) in
      for progress in reports { report(progress) }
    }
    return heard.value
  }

  @Test func `is heard once for each hundredth and stage`() async throws {
    let all = (0...100_000).map { TransferProgress(stage: .sending, sent: $0, toSend: 100_000) }
    let heard = try await heard(all + [TransferProgress(stage: .waiting, sent: 100_000, toSend: 100_000)])
    #expect((41...42).contains(heard.count), "\(heard.count)")
    #expect(heard.first == all.first && heard.last?.stage == .waiting)
  }

  @Test func `starts over with another attempt`() async throws {
    let done = TransferProgress(stage: .receiving, sent: 1, toSend: 1, received: 0, expected: 0)
    let heard = try await heard([start, done, start, done])
    #expect(heard == [start, done, start, done])
  }

  @Test func `is not heard after the call has ended, and not while it ends`() async throws {
    let (inside, release, ended) = (Gate(), Latch(), Shared(false))
    let late = Shared<(@Sendable (TransferProgress) -> Void)?>(nil)
    let heard = Shared(0)
    let start = start
    let call = Task {
      try await TransferReport.steps(
        to: { _ in
          heard.change { $0 += 1 }
          inside.open()
          release.block()
        }
      ) { report async throws(ReactorError) in
        late.change { $0 = report }
        Thread.detachNewThread { report(start) }
        try? await inside.wait()
      }
      ended.change { $0 = true }
    }
    try await inside.wait()
    #expect(!ended.value)
    release.open()
    try await call.value
    late.value?(TransferProgress(stage: .receiving))
    #expect(heard.value == 1)
  }
}
