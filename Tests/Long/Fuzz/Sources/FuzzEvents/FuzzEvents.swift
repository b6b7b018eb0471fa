import FuzzSupport
import ServerSentEvents

/// Any bytes of a server are the same events, whatever pieces they come in, and those of a parser
/// that splits strings. An event that is encoded is parsed as itself.
@c(LLVMFuzzerTestOneInput) public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = Input(start, count)
  let whole = Parsed(of: [input.bytes])
  check(whole == Reference.parsed(input.bytes), "other events than the reference's")
  check(whole == Parsed(of: pieces(of: input)), "other events in pieces")
  check(whole == Parsed(of: input.bytes.map { [$0] }), "other events byte by byte")
  for event in whole.events { check(isParsedAsItself(event), "an event that is not encoded as itself: \(event)") }
  if let pumped = input.pumped() {
    _ = Parsed(of: [Array(pumped)])
    _ = Parsed(of: pumped.map { [$0] })
  }
  return 0
}

/// The events of a stream, and what it leaves behind.
struct Parsed: Equatable {
  var events: [ServerSentEvent] = []
  var position = ""
  var retry: Duration?
}

extension Parsed {
  init(of pieces: [[UInt8]]) {
    var parser = EventStreamParser()
    for piece in pieces {
      succeed("a stream within the limits") {
        // An id may be too long, which ends the stream.
        do throws(EventSourceError) { try parser.feed(piece) { events.append($0) } } catch .idTooLong { return }
      }
    }
    (position, retry) = (parser.lastEventID, parser.retry)
  }
}

private func isParsedAsItself(_ event: ServerSentEvent) -> Bool {
  // A null character in an id is never parsed; nor is a line end in a type.
  let bytes = succeed("the encoding of a parsed event") { try event.encoded }
  let comment = ServerSentEvent.comment(event.data)
  return Parsed(of: [comment + bytes]).events == [event]
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
