import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorLive
import ReactorTesting
import Synchronization

/// The streams of the server, and its answers to long polls.
extension LiveWorld {
  /// Answers the request of a layer for a stream.
  func open(_ request: LiveRequest, of layer: Int) async throws(ReactorError) -> LiveResponse {
    let faults = world.currentFaults
    let draws = world.draws.split()
    do { try await world.clock.sleep(for: draws.duration(upTo: .milliseconds(300))) } catch { throw .cancelled }
    guard world.reachability.isReachable else { throw .noConnectivity }
    if faults != .none, draws.chance(0.3) {
      let status = draws.element(of: [500, 503, 429, 410]) ?? 500
      throw .server(HTTPResponse(status: .init(code: status)), body: Data())
    }
    let id = request.lastEventID
    let (number, isResumed, isHeldBack) = server.withLock { server -> (Int, Bool, Bool) in
      server.streams += 1
      let isResumed = server.number(of: id) != nil
      // A gap has no tags either.
      if !isResumed { server.lagsUntil = .zero }
      return (server.streams, isResumed, server.isHeldBack)
    }
    if let wait = request.wait {
      return try await poll(number, of: layer, behind: id, isResumed: isResumed, wait, draws)
    }
    world.note("stream \(number) opens after \(id)")
    if isHeldBack {
      do { try await world.clock.sleep(for: .seconds(100_000)) } catch { throw .cancelled }
    }
    let (first, position) = server.withLock { server in
      (server.greeting(isResumed: isResumed), isResumed ? id : server.head)
    }
    let pieces = FeedPieces(world: itself, layer: layer, number: number, first: first, position: position, draws: draws)
    return LiveResponse(status: 200, contentType: "text/event-stream", body: ResponseBody(pieces))
  }

  /// Answers a long poll, once there is news or its time is over.
  private func poll(
    _ number: Int, of layer: Int, behind id: String, isResumed: Bool, _ wait: Duration, _ draws: SeededDraws
  ) async throws(ReactorError) -> LiveResponse {
    let limit = min(wait, Self.heartbeat * 2)
    let end = world.clock.now.elapsed + (isResumed ? limit : .zero)
    var position = id
    world.note("poll \(number) waits after \(id) for \(limit)")
    while true {
      let answer = server.withLock { server -> String? in
        guard number > server.silentUntil else { return nil }
        guard isResumed else { return server.greeting(isResumed: false, wait: limit) }
        let greeting = server.greeting(isResumed: true, wait: limit)
        let text = server.events(after: &position)
        return text.isEmpty && world.clock.now.elapsed < end ? nil : greeting + text + "id: \(position)\n\n"
      }
      guard server.withLock({ number > $0.cutUntil }) else { throw .network(FeedPieces.Cut()) }
      if let answer {
        heard(layer)
        return LiveResponse(status: 200, contentType: "text/event-stream", body: ResponseBody(Data(answer.utf8)))
      }
      do { try await world.clock.sleep(for: draws.duration(upTo: .milliseconds(400))) } catch { throw .cancelled }
    }
  }

  /// Returns what a stream has next, behind `position`; `nil` if it is cut.
  fileprivate func next(_ number: Int, _ position: inout String, isDue: Bool) -> String? {
    server.withLock { server -> String? in
      guard number > server.cutUntil else { return nil }
      guard number > server.silentUntil else { return "" }
      let text = server.events(after: &position)
      return text.isEmpty && isDue ? "id: \(position)\n\n" : text
    }
  }

  fileprivate var clock: TestClock { world.clock }
  fileprivate func heard(_ layer: Int) { heardAt.change { [clock] in $0[layer] = clock.now.elapsed } }
}

extension LiveWorld.Server {
  /// The number of a position in this history; `nil` if it is of another, or forgotten.
  func number(of id: String) -> Int? {
    let parts = id.split(separator: ".")
    guard parts.count == 2, parts[0] == "s\(space)", let number = Int(parts[1]), number + 1 >= first else { return nil }
    return number
  }

  mutating func tell(_ change: String, limit: Int) {
    log.append(change)
    while log.count > limit {
      log.removeFirst()
      first += 1
    }
  }

  func greeting(isResumed: Bool, wait: Duration? = nil) -> String {
    let wait = wait.map { ",\"wait\":\($0 / .seconds(1))" } ?? ""
    return "event: hello\ndata: {\"v\":1,\"resumed\":\(isResumed),\"head\":\"\(head)\",\"heartbeat\":5\(wait)}\n\n"
  }

  /// Returns the events behind a position, which moves to the end.
  mutating func events(after position: inout String) -> String {
    guard let number = number(of: position) else {
      (position, lagsUntil) = (head, .zero)
      return "event: reset\nid: \(head)\ndata: {}\n\n"
    }
    let events = log.enumerated().dropFirst(number + 1 - first).map { offset, told in
      "event: change\nid: s\(space).\(first + offset)\ndata: {\"changes\":[{\(told)}]}\n\n"
    }
    position = head
    return events.joined()
  }
}

/// The body of a stream. It looks for news at random intervals, and repeats an event now and then.
private struct FeedPieces: AsyncSequence, Sendable {
  /// Empty after the end of the world, which ends its streams.
  let world: Shared<LiveWorld?>
  let layer: Int
  let number: Int
  let first: String
  let position: String
  let draws: SeededDraws

  struct Cut: Error {}

  func makeAsyncIterator() -> Iterator { Iterator(pieces: self, position: position) }

  struct Iterator: AsyncIteratorProtocol {
    let pieces: FeedPieces
    var position: String
    var isGreeted = false
    var lastAt: Duration = .zero
    var repeated = ""

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
      guard let clock = pieces.world.value?.clock else { return nil }
      if !isGreeted {
        isGreeted = true
        return piece(pieces.first)
      }
      while true {
        try await clock.sleep(for: pieces.draws.duration(upTo: .milliseconds(400)))
        let isDue = clock.now.elapsed - lastAt >= .seconds(4)
        guard let world = pieces.world.value, let text = world.next(pieces.number, &position, isDue: isDue) else {
          if pieces.draws.chance(0.5) { throw Cut() }
          return nil
        }
        guard !text.isEmpty else { continue }
        defer { repeated = text }
        return piece(pieces.draws.chance(0.1) ? repeated + text : text)
      }
    }

    private mutating func piece(_ text: String) -> ArraySlice<UInt8> {
      guard let world = pieces.world.value else { return [] }
      lastAt = world.clock.now.elapsed
      world.heard(pieces.layer)
      return Array(text.utf8)[...]
    }
  }
}
