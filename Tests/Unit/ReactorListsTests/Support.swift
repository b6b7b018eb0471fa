import Foundation
import HTTPTypes
import ReactorCore
import ReactorLists
import ReactorTesting
import ReactorWrites
import Synchronization
import TestSupport

struct Item: Codable, Entity, Hashable {
  var id: Int
  var text = ""
}

/// A server whose items come in pages, newest first, by a cursor in a `Link` field. Its answers
/// have an entity tag, and are fresh for a minute.
final class Shelf: Sendable {
  struct State {
    var items: [Item] = []
    var failures: [String: HTTPResponse.Status] = [:]
    var gates: [String: Gate] = [:]
    var links: [String: String] = [:]
    /// The `Cache-Control` fields of pages that have another one than the rest.
    var cacheControl: [String: String] = [:]
    /// Links of which a 304 says nothing, as of a cursor that has expired meanwhile.
    var newLinks: [String: String] = [:]
    /// A Boolean value that indicates whether a tag covers only the body, and a 304 has no `Link`.
    var hidesLinks = false
    /// The number of answers after which the server says no more, so that an endless loop ends.
    var lastAnswer = Int.max
    var answers = 0
    var confirmed = 0
    /// The time that passes with each answer.
    var answerTime = Duration.zero
  }

  let bench: Bench
  let size: Int
  private let state: StateBox

  /// Shared with the handler of the transport, which the bench retains.
  private final class StateBox: Sendable {
    let value = Mutex(State())
  }

  init(
    _ ids: some Sequence<Int>, size: Int = 2, linksBack: Bool = false, cacheControl: String = "max-age=60",
    persistence: (any Persistence)? = MemoryPersistence(), configure: (inout ReactorConfiguration) -> Void = { _ in }
  ) {
    let box = StateBox()
    box.value.withLock { $0.items = ids.map { Item(id: $0) } }
    state = box
    self.size = size
    let clock = TestClock()
    let transport = ScriptedTransport { request, _ in
      clock.advance(by: box.value.withLock(\.answerTime))
      return Self.answer(request, box, size: size, linksBack: linksBack, cacheControl)
    }
    bench = Bench(persistence: persistence, clock: clock, transport: transport, configure: configure)
  }

  var items: Reactor<[Item]> { bench.layer.reactor() }
  var paths: [String] { bench.transport.requests.map { String($0.path.dropFirst("/v1/".count)) } }
  var confirmed: Int { state.value.withLock(\.confirmed) }

  func change(_ body: (inout State) -> Void) { state.value.withLock { body(&$0) } }

  private static func answer(
    _ request: HTTPRequest, _ box: StateBox, size: Int, linksBack: Bool, _ cacheControl: String
  ) -> ScriptedTransport.Answer {
    let path = String((request.path ?? "").dropFirst("/v1/".count))
    return box.value.withLock { state in
      state.answers += 1
      if state.answers > state.lastAnswer { return ScriptedTransport.Answer.response(.ok).held(at: Gate()) }
      if let status = state.failures[path] { return gated(.response(status), path, state) }
      let cursor = path.split(separator: "=").last.flatMap { Int($0) }
      // Many servers have no empty page.
      if state.hidesLinks, let cursor, !state.items.contains(where: { $0.id < cursor }) {
        return gated(.response(.notFound), path, state)
      }
      var rest = state.items[...]
      if path.contains("after="), let cursor { rest = rest.drop { $0.id >= cursor } }
      if path.contains("before="), let cursor { rest = state.items.prefix { $0.id > cursor }.suffix(size) }
      let page = Array(rest.prefix(size))
      var links: [String] = []
      if let fixed = state.links[path] {
        links.append("<\(fixed)>; rel=next")
      } else if let last = page.last, state.items.contains(where: { $0.id < last.id }) {
        links.append("<items?after=\(last.id)>; rel=next")
      }
      if linksBack, let first = page.first { links.append("<items?before=\(first.id)>; rel=prev") }
      let body = (try? JSONEncoder().encode(page)) ?? Data()
      let cacheControl = state.cacheControl[path] ?? cacheControl
      let tagged = state.hidesLinks ? "" : links.joined()
      let tag = "\"\(page.map { "\($0.id)\($0.text)" }.joined(separator: "-"))|\(tagged)\"".replacing(" ", with: "")
      var fields: HTTPFields = [.cacheControl: cacheControl, .eTag: tag, .contentType: "application/json"]
      if let link = HTTPField.Name("Link"), !links.isEmpty { fields[link] = links.joined(separator: ", ") }
      if request.headerFields[.ifNoneMatch] == tag {
        state.confirmed += 1
        if let link = HTTPField.Name("Link"), state.hidesLinks || state.newLinks[path] != nil { fields[link] = nil }
        return gated(.response(.notModified, headers: fields), path, state)
      }
      if let link = HTTPField.Name("Link"), let new = state.newLinks[path] { fields[link] = "<\(new)>; rel=next" }
      return gated(.response(headers: fields, body: body), path, state)
    }
  }

  private static func gated(
    _ answer: ScriptedTransport.Answer, _ path: String, _ state: State
  ) -> ScriptedTransport.Answer {
    state.gates[path].map { answer.held(at: $0) } ?? answer
  }
}

extension Pages<[Item]> {
  /// The ids that the list shows, page by page.
  var ids: [[Int]] { states.current.value.map { $0.map { $0.map(\.id) } } ?? [] }
}
