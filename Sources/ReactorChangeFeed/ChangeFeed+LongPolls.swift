import HTTPTypes
import Synchronization

/// A client's wish for one answer, by `Prefer: wait` (RFC 7240 §4.3).
struct LongPoll {
  /// The time for which the server waits at most.
  let wait: Duration
  /// The time at which the answer is given, whatever changes.
  let answersAt: Duration
  /// `true` if the client's place is in the list.
  let isResumed: Bool

  /// - Parameter tick: the time by which a waiting client may be woken late.
  init(_ wait: Duration, isResumed: Bool, from now: Duration, tick: Duration) {
    (self.wait, self.isResumed) = (wait, isResumed)
    // Clients take an answer without news for good after half of the time.
    answersAt = now + max(wait - tick, wait * 0.6)
  }
}

extension ChangeFeed {
  /// Returns the answer to a long poll, unless it is early; `nil` if the client has lost its place
  /// among the clients.
  ///
  /// The answer is a whole stream: a greeting, the changes, and the position that they lead to.
  func answer(to client: inout ChangeStream.Client, _ poll: LongPoll, at now: Duration) -> Delivery? {
    state.withLock { state in
      guard state.seats.contains(client.seat), !isBlind(state, at: now) else { return nil }
      var position = client.place.position
      let told = state.log.bytes(behind: &position, for: client.audiences, atMost: 64 << 10)
      client.place.position = position
      let bytes = poll.isResumed ? told : nil
      if let bytes, bytes.isEmpty, now < poll.answersAt, !state.isEnding { return .wait }
      state.seats.give(client.seat, at: now)
      var answer = greeting(resuming: bytes == nil ? nil : position, &state, at: now, wait: poll.wait)
      // Also behind changes: those of others have moved the position, too.
      if let bytes { answer += bytes + Array("id: \(state.log.id(of: position))\n\n".utf8) }
      return .end(answer + (state.isEnding ? ChangeEncoding.event("bye") : []))
    }
  }
}

extension HTTPRequest {
  /// The time for which the client prefers to wait for an answer (RFC 7240 §4.3); `nil` if it does
  /// not say so. Of several preferences of one name, the first one counts (§2).
  var preferredWait: Duration? {
    guard let field = HTTPField.Name("Prefer").flatMap({ headerFields[$0] }) else { return nil }
    for preference in field.split(separator: ",") {
      // Parameters of a preference follow a semicolon.
      let words = preference.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1).map {
        $0.filter { !" \t\"".contains($0) }
      }
      guard words.first?.lowercased() == "wait" else { continue }
      return words.last.flatMap { UInt32($0) }.map { .seconds(Int64($0)) }
    }
    return nil
  }
}
