import Foundation
import ServerSentEvents

/// The parser of event streams beside a loop that only splits the bytes at their blank lines, with
/// a copy of each block: no fields, no text, no UTF-8.
///
/// A ratio of 2 is half of the speed.
enum EventStreams: Benchmark {
  static let name = "event stream"
  static let question = "4 MB of events of 100 bytes, and of 10 KB, in pieces of 16 KiB"

  static func measure(_ bench: Bench) async throws {
    for (size, name, target) in [(100, "100 B", 2.0), (10_000, "10 KB", 1.43)] {
      let pieces = pieces(ofEventsOf: size)
      try expect(parsed(pieces) == split(pieces), "as many events as blocks")
      try await bench.compare(
        "event stream, 4 MB, events of \(name)", to: "split at blank lines, as bytes", target: .ratio(target)
      ) { count in
        for _ in 0..<count { blackHole(try parsed(pieces)) }
      } limit: { count in
        for _ in 0..<count { blackHole(split(pieces)) }
      }
    }
  }

  static func grow(_ growth: Growth) async throws {
    try await growth.curve(
      "event stream, one event", of: "bytes", expected: 1, sizes: [1_000, 10_000, 100_000, 1_000_000]
    ) {
      size in
      let event = [Array("data: \(String(repeating: "a", count: size))\n\n".utf8)]
      return { count in for _ in 0..<count { blackHole(try parsed(event)) } }
    }
  }

  private static func parsed(_ pieces: [[UInt8]]) throws -> Int {
    var (parser, count) = (EventStreamParser(), 0)
    for piece in pieces {
      try parser.feed(piece) { event in
        blackHole(event)
        count += 1
      }
    }
    return count
  }

  private static func split(_ pieces: [[UInt8]]) -> Int {
    var (block, count, last) = ([UInt8](), 0, UInt8(0))
    for piece in pieces {
      var start = 0
      for index in piece.indices {
        let byte = piece[index]
        if byte == UInt8(ascii: "\n"), last == byte {
          block += piece[start...index]
          blackHole(block)
          block = []
          start = index + 1
          count += 1
        }
        last = byte
      }
      block += piece[start...]
    }
    return count
  }

  private static func pieces(ofEventsOf size: Int) -> [[UInt8]] {
    let text = String(repeating: "{\"text\":\"token\"},", count: size / 17 + 1)
    let events = (0..<4_000_000 / size).map { number in
      let head = "id: \(number)\nevent: message\ndata: "
      return "\(head)\(text.prefix(max(size - head.utf8.count - 2, 1)))\n\n"
    }
    let bytes = Array(events.joined().utf8)
    return stride(from: 0, to: bytes.count, by: 16_384).map { Array(bytes[$0..<min($0 + 16_384, bytes.count)]) }
  }
}
