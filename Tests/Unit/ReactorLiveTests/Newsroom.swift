import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorLive
import ReactorMiddleware
import ReactorOutbox
import ReactorTesting
import ServerSentEvents
import Synchronization
import TestSupport
import Testing

struct Post: Codable, Hashable { var likes: Int }

/// The states that an observer of a post has received.
final class Screen: Sendable {
  let states = Shared<[LoadState<Post>]>([])
  let task = TaskHandle(priority: nil)

  var likes: Int? { states.value.last?.value?.likes }
  var isStale: Bool { states.value.last?.isStale == true }
}

/// A server with posts, and a stream whose pieces a test sends.
final class Newsroom: Sendable {
  let world: SimulatedWorld
  let likes = Shared([1, 1, 1])
  let requests = Shared<[String]>([])
  let opened = Shared<[String]>([])
  /// The seconds for which each request for the stream lets the server wait; `nil` for a stream.
  let waits = Shared<[Int64?]>([])
  let streams = Shared<[AsyncThrowingStream<ArraySlice<UInt8>, any Error>.Continuation]>([])
  let activity = ScriptedAppActivity()
  private let readings = Shared(0)
  let refusal = Shared<ReactorError?>(nil)
  private let screens = Shared<[Screen]>([])
  let groups = Shared<String?>(nil)
  let latency = Shared(Duration.milliseconds(10))
  /// `true` while the server accepts requests for the stream and sends no head.
  let isMute = Shared(false)
  /// `true` while something between holds each response back until its end.
  let holdsBack = Shared(false)
  /// A Boolean value that indicates whether a write is answered with 202, and carried out later.
  let defersWrites = Shared(false)
  /// A Boolean value that indicates whether responses have an `ETag`, which is the number of likes.
  let tagsResponses = Shared(false)
  /// A Boolean value that indicates whether post 1 in German is post 2, under one URL.
  let hasLanguages = Shared(false)
  /// The likes that a replica answers with; `nil` for the present ones.
  let replica = Shared<Int?>(nil)
  /// The `Change-Id` of each write.
  let changeIDs = Shared<[String?]>([])
  /// The events that the server sends before it answers a write.
  let beforeAnswer = Shared<(@Sendable (String?) -> Void)?>(nil)
  /// The token that the server accepts; `nil` for any.
  let token = Shared<String?>(nil)
  let authentication = BearerToken("old", origins: [Newsroom.base])
  static let base = URL(string: "https://api.example.com/v1/") ?? URL(filePath: "/")

  init(_ world: SimulatedWorld) {
    self.world = world
    world.currentFaults = .none
  }

  var backend: Backend {
    Backend(
      baseURL: Self.base, transport: PostTransport(newsroom: self), authentication: authentication,
      reachability: world.reachability)
  }

  func layer(_ mapping: LiveMapping = .changes, persistence: (any Persistence)? = nil) -> ModelLayer {
    var configuration = world.configuration
    // No two readings are equal, as on a real clock.
    configuration.now = { [clock = world.clock, readings] in
      readings.change { $0 += 1 }
      return clock.date + Double(readings.value) / 1_000_000
    }
    var live = LiveConfiguration()
    live.seed = 1
    live.activity = activity
    return ModelLayer(
      backend: backend, persistence: persistence, configuration: configuration,
      extensions: [
        .outbox(OutboxConfiguration(storage: MemoryOutboxStorage(), mutations: [AddLike.self])),
        .live(mapping, live, base: { _ in "https://api.example.com/v1/events" }) {
          [self] _, request throws(ReactorError) in
          opened.change { $0.append(request.lastEventID) }
          waits.change { $0.append(request.wait?.components.seconds) }
          if let refusal = refusal.value { throw refusal }
          if isMute.value || holdsBack.value && request.wait == nil {
            do { try await world.clock.sleep(for: .seconds(100_000)) } catch { throw .cancelled }
          }
          let (stream, continuation) = AsyncThrowingStream.makeStream(of: ArraySlice<UInt8>.self)
          streams.change { $0.append(continuation) }
          return LiveResponse(
            status: 200, contentType: "text/event-stream; charset=utf-8", body: ResponseBody(stream))
        },
      ])
  }

  /// Runs a test in simulated time, with a layer that follows a server.
  static func run(
    _ mapping: LiveMapping = .changes, _ body: @escaping @Sendable (Newsroom, ModelLayer) async throws -> Void
  ) async {
    await Simulation.run(seeds: 0..<3) { world in
      let newsroom = Newsroom(world)
      try await body(newsroom, newsroom.layer(mapping))
      newsroom.end()
    }
  }

  func send(_ text: String) { streams.value.last?.yield(Array(text.utf8)[...]) }

  func greet(_ head: String = "a.1", resumed: Bool = false) {
    send("event: hello\ndata: {\"v\":1,\"resumed\":\(resumed),\"head\":\"\(head)\",\"heartbeat\":15}\n\n")
  }

  func tell(_ changes: String, at id: String) { send("event: change\nid: \(id)\ndata: {\"changes\":[\(changes)]}\n\n") }

  func cut() { streams.value.last?.finish(throwing: URLError(.networkConnectionLost)) }

  /// Shows a post on a screen.
  func watch(_ resource: Resource, _ layer: ModelLayer, polling: Duration = .never) -> Screen {
    let screen = Screen()
    screen.task.attach(
      spawn(on: world.configuration.taskExecutor) {
        for await state in layer.reactor(Post.self).states(for: resource, polling: polling) {
          screen.states.change { $0.append(state) }
        }
      })
    screens.change { $0.append(screen) }
    return screen
  }

  /// Ends the process: nothing of it runs on.
  func leave() async throws {
    for screen in screens.value { screen.task.cancel() }
    try await settle(.milliseconds(1))
  }

  func end() {
    beforeAnswer.change { $0 = nil }
    for screen in screens.value { screen.task.cancel() }
    for stream in streams.value { stream.finish() }
  }

  /// Lets a second pass, in which everything that is due happens.
  func settle(_ time: Duration = .seconds(1)) async throws { try await world.clock.sleep(for: time) }

  func answer(_ request: HTTPRequest) async throws -> (HTTPResponse, Data) {
    let path = request.path ?? ""
    requests.change { $0.append(path) }
    if let token = token.value, request.headerFields[.authorization] != "Bearer \(token)" {
      return (HTTPResponse(status: .unauthorized), Data())
    }
    var number = path.split(separator: "/").last.flatMap { Int($0) } ?? 0
    if hasLanguages.value, request.headerFields[.acceptLanguage] == "de" { number += 1 }
    if request.method != .get { return try await change(number, request) }
    let likes = replica.value ?? likes.value[number]
    try await world.clock.sleep(for: latency.value)
    var fields: HTTPFields = [.cacheControl: "max-age=1000"]
    if tagsResponses.value {
      fields[.eTag] = "\"\(likes)\""
      if request.headerFields[.ifNoneMatch] == "\"\(likes)\"" {
        return (HTTPResponse(status: .notModified, headerFields: fields), Data())
      }
    }
    if hasLanguages.value { fields[.vary] = "Accept-Language" }
    if let name = HTTPField.Name("Cache-Groups") { fields[name] = groups.value }
    return (HTTPResponse(status: .ok, headerFields: fields), Data(#"{"likes":\#(likes)}"#.utf8))
  }
}

extension Newsroom {
  /// A write adds one like. Its answer has the tag of the new version if responses have tags.
  private func change(_ number: Int, _ request: HTTPRequest) async throws -> (HTTPResponse, Data) {
    let id = request.headerFields[.changeID]
    changeIDs.change { $0.append(id) }
    if defersWrites.value { return (HTTPResponse(status: .accepted), Data()) }
    likes.change { $0[number] += 1 }
    let now = likes.value[number]
    beforeAnswer.value?(id)
    try await world.clock.sleep(for: latency.value)
    let fields: HTTPFields = tagsResponses.value ? [.eTag: "\"\(now)\""] : [:]
    return (HTTPResponse(status: .noContent, headerFields: fields), Data())
  }

  /// The requests that read.
  func reads(of path: String) -> Int { requests.value.filter { $0 == path }.count - changeIDs.value.count }
}

private struct PostTransport: Transport {
  let newsroom: Newsroom

  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) { try await newsroom.answer(request) }
}
