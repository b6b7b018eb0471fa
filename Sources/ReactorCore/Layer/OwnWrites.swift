import Foundation
import HTTPCaching
package import HTTPTypes
import Synchronization

/// The writes of this client whose changes a server may tell, too.
///
/// An event of such a change is an echo: what was requested after the answer to the write has the
/// change already. A write is recognized by its `Change-Id`, which the server repeats, or by the
/// entity tag of its answer.
final class OwnWrites: Sendable {
  /// The id that is sent with a write.
  enum Naming: UInt8 {
    /// The layer follows no server, and notes nothing.
    case none
    /// No id: the server repeats none.
    case tags
    /// A `Change-Id`.
    case ids
  }

  /// The answer to a write that the server has accepted.
  struct Acceptance: Sendable {
    var moment: Moment
    /// The URL that the answer's tag is of.
    var url: String
    var tag: String?
    /// The tags of the versions that were in memory when the answer came.
    var older: [String]
    /// The server has told the change.
    var isTold = false
  }

  private struct TaggedURL: Hashable {
    let url: String
    let tag: String
  }

  private struct State {
    /// The writes without an answer, and those of them that the server has told already.
    var unanswered: Set<String> = []
    var toldBefore: Set<String> = []
    var accepted: [String: Acceptance] = [:]
    /// The accepted ids by tag, and all of them in their order.
    var byTag: [TaggedURL: String] = [:]
    var order: [String] = []
    /// The number of writes of each URL whose answer has yet to be applied.
    var urls: [String: Int] = [:]
  }

  private let state = Mutex(State())
  private let naming = Atomic<UInt8>(Naming.none.rawValue)
  /// The accepted writes that are remembered.
  private static let limit = 256

  var isFollowed: Bool { naming.load(ordering: .relaxed) != Naming.none.rawValue }

  func follow(_ naming: Naming) { self.naming.store(naming.rawValue, ordering: .relaxed) }

  /// Begins an attempt.
  ///
  /// - Returns: its id, and whether it is sent; `nil` if nothing is noted.
  func begin() -> (id: String, isSent: Bool)? {
    guard isFollowed else { return nil }
    let id = UUID().uuidString
    state.withLock { _ = $0.unanswered.insert(id) }
    return (id, naming.load(ordering: .relaxed) == Naming.ids.rawValue)
  }

  /// Ends an attempt, with the answer if the server has accepted it.
  func end(_ id: String, _ acceptance: Acceptance?) {
    state.withLock { state in
      guard state.unanswered.remove(id) != nil else { return }
      let wasTold = state.toldBefore.remove(id) != nil
      guard let acceptance else { return }
      state.accepted[id] = acceptance
      if wasTold { state.accepted[id]?.isTold = true }
      state.order.append(id)
      if let tag = acceptance.tag { state.byTag[TaggedURL(url: acceptance.url, tag: tag)] = id }
      guard state.order.count > Self.limit else { return }
      let oldest = state.order.removeFirst()
      guard let forgotten = state.accepted.removeValue(forKey: oldest), let tag = forgotten.tag else { return }
      let tagged = TaggedURL(url: forgotten.url, tag: tag)
      if state.byTag[tagged] == oldest { state.byTag[tagged] = nil }
    }
  }

  /// Returns the answer to a write of this client; `nil` for another's, or without an answer yet.
  func acceptance(_ id: String) -> Acceptance? {
    guard isFollowed else { return nil }
    return state.withLock { state in state.accepted[id].flatMap { $0.isTold ? nil : $0 } }
  }

  /// Returns the answer that has told this tag, once: if the same version is set again later,
  /// that is another change.
  func acceptance(of url: String, _ tag: String) -> Acceptance? {
    guard isFollowed else { return nil }
    return state.withLock { state in
      guard let id = state.byTag[TaggedURL(url: url, tag: tag)], let own = state.accepted[id], !own.isTold else {
        return nil
      }
      state.accepted[id]?.isTold = true
      return own
    }
  }

  /// Notes that the server has told the changes of these writes. All clients that are told a
  /// change know its id, so another change of the same id is another client's.
  func wereTold(_ ids: Set<String>) {
    guard isFollowed else { return }
    state.withLock { state in
      for id in ids {
        state.accepted[id]?.isTold = true
        if state.unanswered.contains(id) { state.toldBefore.insert(id) }
      }
    }
  }

  func awaitsAnswer(_ id: String) -> Bool { isFollowed && state.withLock { $0.unanswered.contains(id) } }

  /// Notes that a write of a URL is under way, until ``endWriting(_:)``.
  func beginWriting(_ url: String) { state.withLock { $0.urls[url, default: 0] += 1 } }

  func endWriting(_ url: String) {
    state.withLock { state in
      let left = (state.urls[url] ?? 1) - 1
      state.urls[url] = left > 0 ? left : nil
    }
  }

  func isWriting(_ url: String) -> Bool { state.withLock { $0.urls[url] != nil } }

  /// Forgets the answers, since everything is being removed.
  func removeAll() {
    state.withLock { ($0.accepted, $0.byTag, $0.order) = ([:], [:], []) }
  }
}

/// The writes of a layer whose server tells its changes.
extension LayerContext {
  /// Notes the answers to writes from now on, for ``mark(_:by:)``.
  ///
  /// - Parameter sendsIDs: `true` to send each attempt of a write with its own `Change-Id`.
  package func followOwnWrites(sendsIDs: Bool) { ownWrites.follow(sendsIDs ? .ids : .tags) }

  /// A Boolean value that indicates whether an attempt of this layer has this `Change-Id`, and no
  /// answer yet.
  package func awaitsAnswer(to id: String) -> Bool { ownWrites.awaitsAnswer(id) }

  /// A Boolean value that indicates whether a write of the URL is under way. Its answer will
  /// request the URL again.
  package func isBeingWritten(_ url: String) -> Bool { ownWrites.isWriting(url) }

  /// Notes that the server has told the changes with these ids.
  package func wereTold(_ ids: Set<String>) { ownWrites.wereTold(ids) }

  /// Sends an attempt of a write, and notes the answer.
  func sendWrite(
    _ request: HTTPRequest, of key: RecordKey, _ send: (HTTPRequest) async throws -> (HTTPResponse, Data)
  ) async throws -> (HTTPResponse, Data) {
    guard let attempt = ownWrites.begin() else { return try await send(request) }
    var request = request
    if attempt.isSent { request.headerFields[.changeID] = attempt.id }
    do {
      let answer = try await send(request)
      ownWrites.end(attempt.id, acceptance(answer.0, of: request, key))
      return answer
    } catch {
      ownWrites.end(attempt.id, nil)
      throw error
    }
  }

  private func acceptance(
    _ response: HTTPResponse, of request: HTTPRequest, _ key: RecordKey
  ) -> OwnWrites.Acceptance? {
    // After a 202 or a redirect, the change may not be there yet (RFC 9110 §15.3.3).
    guard response.status.kind == .successful, response.status != .accepted else { return nil }
    let fields = response.headerFields
    // The tag is that of what was created, or of what the content is (RFC 9110 §8.8.3, §15.3.2).
    let place = response.status == .created ? fields[.location] ?? fields[.contentLocation] : fields[.contentLocation]
    let url = place.flatMap { URL(string: $0, relativeTo: request.url) }.map { self.key(ofURL: $0.absoluteString).url }
    let tag = fields[.eTag].flatMap { $0.hasPrefix("\"") ? $0 : nil }
    return OwnWrites.Acceptance(
      moment: Moment(number: generations.next(), date: configuration.now()), url: url ?? key.url, tag: tag,
      older: copies(of: url ?? key.url).compactMap(\.tag))
  }

  /// Tells the parts that a write is over, and that what it has changed is stale.
  package func toldWriteEnded() {
    guard ownWrites.isFollowed else { return }
    for part in parts { part.writeEnded() }
  }
}

extension HTTPField.Name {
  /// The name of the field with the random id of a change, which a server repeats to the clients
  /// that it tells of the change.
  package static let changeID = HTTPField.Name("Change-Id") ?? .ifMatch
}
