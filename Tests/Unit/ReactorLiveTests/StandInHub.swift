import Foundation
import HTTPTypes
import ReactorTesting
import Synchronization
import TestSupport

/// A stand-in for a hub of the Mercure protocol, over a real connection. No hub runs on the
/// machines that run these tests, so this one does what we have read in draft-dunglas-mercure, and
/// no more:
///
/// - A subscriber sends `GET` with one `topic` (to draft 07) or `match` (draft 08) parameter for
///   each topic. `*` is every topic. We read `topic` as a URI template of one `{variable}` at the
///   end.
/// - The hub answers with `text/event-stream`. Each update has an `id`. Its data is the new
///   version, and its topic is not sent.
/// - A subscriber continues with `Last-Event-ID`, or with the query parameter `lastEventID` where
///   it cannot set fields. The field counts if there are both.
/// - A response to such a request has `Last-Event-ID`: the id of the update before the first one
///   that is sent, or `earliest` if the id is not known.
/// - A token comes in `Authorization: Bearer`, in a query parameter, or in a cookie, and counts in
///   this order. A token that is not good is a 401. The hub ends a connection when its token
///   expires.
final class StandInHub: Sendable {
  struct Update: Sendable {
    let id: String, topic: String, data: String
    var type: String?
  }

  fileprivate struct Subscriber: Sendable {
    let body: ScriptedBody
    let topics: [String]
  }

  fileprivate struct State {
    var history: [Update] = []
    var subscribers: [Subscriber] = []
    var requests: [URLComponents] = []
    var places: [String] = []
    var tokens: [String] = []
    var goodToken: String?
    var sendsPlace = true
    /// Whoever waits for a subscriber.
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  /// The requests, and the places and tokens that they had.
  var requests: [URLComponents] { state.withLock(\.requests) }
  var places: [String] { state.withLock(\.places) }
  var tokens: [String] { state.withLock(\.tokens) }
  var subscribers: Int { state.withLock(\.subscribers.count) }

  /// Returns once there is a subscriber.
  func subscribed() async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.subscribers.isEmpty { state.waiters.append(continuation) }
        return !state.subscribers.isEmpty
      }
      if isThere { continuation.resume() }
    }
  }

  /// The only token that is good; `nil` for any request.
  func accept(_ token: String?) { state.withLock { $0.goodToken = token } }

  /// Older hubs do not say where they resume.
  func hidePlaces() { state.withLock { $0.sendsPlace = false } }

  func forget() { state.withLock { $0.history = [] } }

  func publish(_ update: Update) {
    let bodies = state.withLock { state in
      state.history.append(update)
      return state.subscribers.filter { Self.matches($0.topics, update.topic) }.map(\.body)
    }
    for body in bodies { body.send(Self.text(update)) }
  }

  /// Ends every connection, as a hub does after ten minutes, or when a token expires.
  func close() {
    let bodies = state.withLock { state in
      defer { state.subscribers = [] }
      return state.subscribers.map(\.body)
    }
    for body in bodies { body.finish() }
  }

  func answer(_ request: MockServer.Request) -> MockServer.Response {
    guard request.method == "GET", let url = URLComponents(string: request.target) else { return .status(400) }
    let items = url.queryItems ?? []
    func value(_ name: String) -> String? { items.first { $0.name == name }?.value }
    let bearer = request["Authorization"].flatMap { $0.hasPrefix("Bearer ") ? String($0.dropFirst(7)) : nil }
    let cookie = request["Cookie"].flatMap { $0.hasPrefix("mercureAuthorization=") ? String($0.dropFirst(21)) : nil }
    let token = bearer ?? value("authorization") ?? cookie
    let place = request["Last-Event-ID"] ?? value("lastEventID")
    let (response, waiters) = state.withLock { state -> (MockServer.Response, [CheckedContinuation<Void, Never>]) in
      state.requests.append(url)
      state.places.append(place ?? "")
      state.tokens.append(token ?? "")
      guard state.goodToken == nil || token == state.goodToken else { return (.status(401), []) }
      let topics = items.filter { $0.name == "topic" || $0.name == "match" }.compactMap(\.value)
      guard !topics.isEmpty else { return (.status(400), []) }
      let (body, headers) = state.subscribe(topics, behind: place)
      defer { state.waiters = [] }
      return (.streaming(body, headers: headers), state.waiters)
    }
    for waiter in waiters { waiter.resume() }
    return response
  }

  fileprivate static func matches(_ topics: [String], _ topic: String) -> Bool {
    topics.contains { selector in
      guard let variable = selector.firstIndex(of: "{") else { return selector == "*" || selector == topic }
      return topic.hasPrefix(selector[..<variable])
    }
  }

  fileprivate static func text(_ update: Update) -> String {
    "id: \(update.id)\n" + (update.type.map { "event: \($0)\n" } ?? "") + "data: \(update.data)\n\n"
  }
}

extension StandInHub.State {
  fileprivate mutating func subscribe(_ topics: [String], behind place: String?) -> (ScriptedBody, HTTPFields) {
    let body = ScriptedBody()
    var headers: HTTPFields = [.contentType: "text/event-stream"]
    let known = place.flatMap { place in history.firstIndex { $0.id == place } }
    if let place, sendsPlace, let name = HTTPField.Name("Last-Event-ID") {
      headers[name] = known == nil ? "earliest" : place
    }
    // A comment first, as hubs do, so that the head is sent.
    body.send(":\nretry: 100\n\n")
    let missed = place == nil ? [] : history[(known.map { $0 + 1 } ?? 0)...]
    for update in missed where StandInHub.matches(topics, update.topic) { body.send(StandInHub.text(update)) }
    subscribers.append(StandInHub.Subscriber(body: body, topics: topics))
    return (body, headers)
  }
}
