import Foundation
import HTTPTypes
import ReactorChangeFeed
import ReactorCore
import ReactorLoopback
import ReactorTesting
import Synchronization
import TestSupport

/// A server of counts that grow, with a feed of their changes; made to be killed.
///
/// Arguments: `live-server`, the directory of the counts, the port, or 0 for a free one, and a
/// seed. On standard input: `g` lets the counts grow, `s` stops them, and `d` ends the streams. On
/// standard output: the port; `resumed` or `gap` for each stream; and after each `s` a line with
/// all counts.
///
/// A count is on disk before any client can read it, and before its change is published.
final class LiveServer: Sendable {
  private struct State {
    var counts: [Int]
    var grows = false
    var generator: SeededGenerator
  }

  private let file: URL
  private let feed: ChangeFeed
  private let state: Mutex<State>

  static func run(_ path: String, port: Int, seed: UInt64) throws {
    let server = try LiveServer(URL(filePath: path).appending(path: "counts.json"), seed: seed)
    let listener = try listener(port)
    listener.start { server.serve($0) }
    StoreWriter.say("\(listener.port)")
    Thread.detachNewThread { server.grow() }
    var byte: UInt8 = 0
    while read(STDIN_FILENO, &byte, 1) == 1 {
      if byte == UInt8(ascii: "d") {
        server.feed.disconnect(.everyone)
      } else {
        server.setGrowing(byte == UInt8(ascii: "g"))
      }
    }
    exit(0)
  }

  private init(_ file: URL, seed: UInt64) throws {
    self.file = file
    let isNew = !FileManager.default.fileExists(atPath: file.path(percentEncoded: false))
    let counts =
      isNew
      ? Array(repeating: 0, count: LiveCounts.all.count)
      : try JSONDecoder().decode([Int].self, from: Data(contentsOf: file))
    state = Mutex(State(counts: counts, generator: SeededGenerator(seed: seed)))
    var configuration = ChangeFeedConfiguration()
    configuration.retry = .milliseconds(100)
    feed = ChangeFeed(configuration)
  }

  /// Listens outside of the range of ports that the system gives to clients: while no server
  /// listens, a client must not get its port.
  private static func listener(_ port: Int) throws -> LoopbackServer {
    guard port == 0 else { return try LoopbackServer(port: port) }
    while true {
      do { return try LoopbackServer(port: .random(in: 20_000..<32_000)) } catch POSIXError.EADDRINUSE { continue }
    }
  }

  private func setGrowing(_ grows: Bool) {
    // Under the lock of the growth: all that has grown is published.
    let counts = state.withLock { state in
      state.grows = grows
      return state.counts
    }
    if !grows { StoreWriter.say((["counts"] + counts.map { "\($0)" }).joined(separator: " ")) }
  }

  private func grow() {
    while true {
      let pause = state.withLock { state in
        if state.grows { change(&state) }
        return Double.random(in: 0.001...0.015, using: &state.generator)
      }
      Thread.sleep(forTimeInterval: pause)
    }
  }

  private func change(_ state: inout State) {
    let number = LiveCounts.all.randomElement(using: &state.generator) ?? 0
    state.counts[number] += 1
    do { try JSONEncoder().encode(state.counts).write(to: file, options: .atomic) } catch {
      StoreWriter.say("the counts were not written: \(error)")
      exit(74)
    }
    let (count, path) = (state.counts[number], "/" + LiveCounts.path(number))
    let (old, new) = (Self.tag(count - 1), Self.tag(count))
    switch Int.random(in: 0..<200, using: &state.generator) {
    case 0: feed.reset()
    // The clients come back, behind this change.
    case 1..<4:
      feed.publish([.url(path)])
      feed.disconnect(.everyone)
    // Rarely, so that most counts are stale by a mark of their own.
    case 4: feed.publish([.all])
    case 5: feed.publish([.group(LiveCounts.group)])
    case 6: feed.publish([.under("/counts")])
    case 7..<80: feed.publish([.value(path, body: Self.body(count), from: old, etag: new)])
    case 80..<120: feed.publish([.merge(path, patch: Self.body(count), from: old, etag: new)])
    case 120..<160: feed.publish([.url(path, etag: new)])
    default: feed.publish([.url(path)])
    }
  }

  private static func tag(_ count: Int) -> String { "\"\(count)\"" }
  private static func body(_ count: Int) -> String { #"{"count":\#(count)}"# }
}

extension LiveServer {
  private func serve(_ connection: Socket) {
    var reader = RequestReader(socket: connection)
    while let request = reader.next() {
      if request.target == "/events" { return stream(request, on: connection) }
      guard connection.send(answer(to: request)), !request.isLast else { return }
    }
  }

  /// Answers with a count, which is fresh for an hour: only its change makes it stale.
  private func answer(to request: LoopbackRequest) -> Data {
    guard let number = LiveCounts.all.first(where: { "/" + LiveCounts.path($0) == request.target }) else {
      return ResponseHead.bytes(404, [("Content-Length", "0")])
    }
    let count = state.withLock { $0.counts[number] }
    var fields = [
      ("Cache-Control", "max-age=3600"), ("Cache-Groups", "\"\(LiveCounts.group)\""), ("ETag", Self.tag(count)),
    ]
    if request["If-None-Match"] == Self.tag(count) { return ResponseHead.bytes(304, fields) }
    let body = Data(Self.body(count).utf8)
    fields += [("Content-Type", "application/json"), ("Content-Length", "\(body.count)")]
    return ResponseHead.bytes(200, fields) + body
  }

  private func stream(_ request: LoopbackRequest, on connection: Socket) {
    var open = HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: "/events")
    if let name = HTTPField.Name("Last-Event-ID") { open.headerFields[name] = request["Last-Event-ID"] }
    let stream: ChangeStream
    do { stream = try feed.open(open) } catch {
      connection.send(ResponseHead.bytes(error.response.status.code, [("Content-Length", "0")]))
      return
    }
    let fields = ChangeFeed.fields.map { ($0.name.rawName, $0.value) } + [("Transfer-Encoding", "chunked")]
    guard connection.send(ResponseHead.bytes(200, fields)) else { return }
    let ended = DispatchSemaphore(value: 0)
    _ = spawnApart(on: nil) {
      var isFirst = true
      var isOpen = true
      for await bytes in stream where isOpen {
        if isFirst {
          StoreWriter.say(String(decoding: bytes, as: UTF8.self).contains("\"resumed\":true") ? "resumed" : "gap")
        }
        isFirst = false
        isOpen = connection.send(Data("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Data("\r\n".utf8))
        if !isOpen { break }
      }
      if isOpen { connection.send(Data("0\r\n\r\n".utf8)) }
      ended.signal()
    }
    ended.wait()
  }
}
