import FuzzSupport
import NIOCore

@testable import ReactorValkey

/// Any bytes of a server are the same replies, and the same error, in whatever pieces they come.
@c(LLVMFuzzerTestOneInput) public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = Input(start, count)
  let whole = replies(in: [input.bytes])
  check(whole == replies(in: pieces(of: input)), "other replies in pieces")
  for reply in whole.replies { check(depth(of: reply) <= 8, "too deep") }
  if let pumped = input.pumped() {
    _ = replies(in: [Array("*65536\r\n".utf8) + pumped])
    _ = replies(in: [Array(pumped)])
  }
  return 0
}

/// The replies up to an error, and the error.
private struct Replies: Hashable {
  var replies: [ValkeyReply] = []
  var error: RESPError?
}

private func replies(in pieces: [[UInt8]]) -> Replies {
  var decoder = RESPDecoder(limit: 1 << 20)
  var buffer = ByteBuffer()
  var found = Replies()
  do {
    for piece in pieces {
      buffer.writeBytes(piece)
      while let reply = try decoder.decode(buffer: &buffer) { found.replies.append(reply) }
    }
  } catch let error as RESPError {
    found.error = error
  } catch {
    violated("another error: \(error)")
  }
  return found
}

/// The bytes in at most nine pieces, cut where their hash says.
private func pieces(of input: Input) -> [[UInt8]] {
  var (pieces, rest, hash) = ([[UInt8]](), input.bytes[...], input.hash)
  while rest.count > 1, pieces.count < 8 {
    let length = 1 + Int(hash % UInt64(rest.count))
    pieces.append(Array(rest.prefix(length)))
    rest = rest.dropFirst(length)
    hash = hash &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
  }
  return pieces + [Array(rest)]
}

private func depth(of reply: ValkeyReply) -> Int {
  switch reply {
  case .array(let elements), .push(let elements), .map(let elements): 1 + (elements.map(depth).max() ?? 0)
  default: 0
  }
}
