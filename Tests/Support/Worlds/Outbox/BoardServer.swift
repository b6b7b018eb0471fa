import Foundation
import HTTPTypes
import ReactorConformance
import ReactorTesting
import Synchronization

/// A server of boards, which remembers idempotency keys for a while, and the book of all that it
/// has done.
final class BoardServer: Sendable {
  /// The habits of the server in one world.
  struct Habits: Sendable {
    /// Seconds that an answer is fresh.
    var maximumAge = 5
    /// For how long a key is remembered.
    var memory: Duration = .seconds(86_400)
    /// The longest time for which a request under a key is being processed.
    var processing: Duration = .zero
    /// The probability of a 503 with `Retry-After`, and of a 500 without an effect.
    var isBusy = 0.0
    /// The probability that the answer to a request that was carried out is a gateway's 502.
    var gatewayError = 0.0
    /// `true` if no answer may be stored.
    var isUnstored = false
    /// `true` if an item that is gone is removed again without an error.
    var removesTwice = true
    /// `true` if no client sends a value that was made from another version than its tag names.
    var knowsBases = true
    /// `true` if a changed base is a 409 and not a 412.
    var conflictsBy409 = false
  }

  /// One request that was carried out; not an answer that was repeated.
  struct Application: Sendable {
    var mark: Int
    var client: Int
    var time: Duration
    /// The versions of the board and of the card's page after it. A request that found the card as
    /// it wanted it has made none.
    var versions: [String: Int]
  }

  fileprivate struct Remembered {
    var text: String
    var response: HTTPResponse
    var data: Data
    var since: Duration
    var busyUntil: Duration
  }

  fileprivate struct State {
    var version = 1
    var boards: [String: Board] = [:]
    /// The versions of each path, each with its board and the time at which it came.
    var history: [String: [Int: (board: Board, since: Duration)]] = [:]
    /// The processes that were sent each version of a path, and when.
    var readings: [String: [Int: [(client: Int, time: Duration)]]] = [:]
    var cards = 100
    var removed: Set<String> = []
    var keys: [String: Remembered] = [:]
    var applications: [Int: [Application]] = [:]
    var ids: [Int: Int] = [:]
    var signedOut: Set<String> = []
    var forgiven: Set<Int> = []
    var isWell = false
  }

  static let paths = ["/a", "/b"]
  /// What each token begins with, and nothing else in this world.
  static let secret = "token-of-"

  let world: SimulatedWorld
  let habits: Habits
  /// The bytes of each form, by its mark, as they were copied when its entry was added.
  let forms = Shared<[Int: Data]>([:])
  private let draws: SeededDraws
  private let state = Mutex(State())

  init(_ world: SimulatedWorld, _ habits: Habits, _ draws: SeededDraws) {
    self.world = world
    self.habits = habits
    self.draws = draws
    for path in Self.paths { state.withLock { $0.put(Board(version: 1, cards: []), at: path, .zero) } }
  }

  private var now: Duration { world.clock.now.elapsed }
}

extension BoardServer.State {
  /// Makes a version of a path.
  fileprivate mutating func put(_ board: Board, at path: String, _ time: Duration) {
    boards[path] = board
    history[path, default: [:]][board.version] = (board, time)
  }

  /// The versions of the paths of a request that was carried out.
  fileprivate func versions(_ request: HTTPRequest, _ mark: Int) -> [String: Int] {
    let parts = (request.path ?? "").split(separator: "/")
    let board = "/\(parts.first ?? "")"
    let page = parts.count == 2 ? request.path ?? "" : "\(board)/\(ids[mark] ?? 0)"
    return [board: boards[board]?.version ?? version, page: boards[page]?.version ?? version]
  }

  /// Changes a board and the page of one of its cards.
  fileprivate mutating func change(_ path: String, _ id: Int, _ time: Duration, _ body: (inout [Card]) -> Void) {
    guard var board = boards[path] else { return }
    let old = board.cards
    body(&board.cards)
    guard board.cards != old else { return }
    version += 1
    board.version = version
    put(board, at: path, time)
    let page = "\(path)/\(id)"
    if let card = board.cards.first(where: { $0.id == id }) {
      if card != old.first(where: { $0.id == id }) { put(Board(version: version, cards: [card]), at: page, time) }
    } else {
      boards[page] = nil
      removed.insert(page)
    }
  }
}

// MARK: - What is asked of it beside HTTP

extension BoardServer {
  func board(_ path: String) -> Board? { state.withLock { $0.boards[path] } }

  func version(_ version: Int, of path: String) -> (board: Board, since: Duration)? {
    state.withLock { $0.history[path]?[version] }
  }

  /// Returns `true` if a process other than `client` was sent this version after `time`.
  func wasSent(_ version: Int, of path: String, toOthersThan client: Int, after time: Duration) -> Bool {
    state.withLock { $0.readings[path]?[version]?.contains { $0.client != client && $0.time >= time } ?? false }
  }

  /// Returns a Boolean value that indicates whether a process was sent a newer version.
  func hasSentNewer(than version: Int, of path: String, to client: Int) -> Bool {
    state.withLock { state in
      state.readings[path]?.contains { $0.key > version && $0.value.contains { $0.client == client } } ?? false
    }
  }

  func applications(of mark: Int) -> [Application] { state.withLock { $0.applications[mark] ?? [] } }

  /// The id of the card that was made for a mark.
  func id(of mark: Int) -> Int? { state.withLock { $0.ids[mark] } }

  var isWell: Bool { state.withLock(\.isWell) }

  func isSignedOut(_ owner: String) -> Bool { state.withLock { $0.signedOut.contains(owner) } }

  /// From now on the token of `owner` is refused, or taken again.
  func signOut(_ owner: String, _ isOut: Bool) {
    state.withLock { state in
      if isOut { state.signedOut.insert(owner) } else { state.signedOut.remove(owner) }
    }
  }

  /// From now on an errand is no longer refused.
  func forgive(_ mark: Int) { state.withLock { _ = $0.forgiven.insert(mark) } }

  /// From now on nothing is wrong but what is asked for.
  func getWell() {
    state.withLock { state in
      state.isWell = true
      state.signedOut = []
    }
  }

  /// Somebody else changes a board.
  func changeByOthers(_ path: String) {
    let (choice, pick, now) = (draws.number(below: 4), draws.number(below: 1_000), now)
    state.withLock { state in
      let cards = state.boards[path]?.cards ?? []
      guard choice > 0, !cards.isEmpty else {
        state.cards += 1
        let card = Card(id: state.cards, title: "by others", isDone: false, price: Price(of: state.cards))
        return state.change(path, card.id, now) { $0.append(card) }
      }
      let id = cards[pick % cards.count].id
      state.change(path, id, now) { cards in
        guard let index = cards.firstIndex(where: { $0.id == id }) else { return }
        switch choice {
        case 1: cards[index].title = "others \(pick)"
        case 2: cards[index].isDone.toggle()
        default: cards.remove(at: index)
        }
      }
    }
  }
}

// MARK: - HTTP

extension BoardServer {
  func answer(_ request: HTTPRequest, _ body: Data?) -> (HTTPResponse, Data) {
    let path = request.path ?? ""
    guard let token = request.headerFields[.authorization], token.hasPrefix(Self.secret) else {
      return (HTTPResponse(status: .unauthorized), Data())
    }
    let owner = String(token.dropFirst(Self.secret.count))
    guard !isSignedOut(owner) else { return (HTTPResponse(status: .unauthorized), Data()) }
    guard request.method != .get else { return read(path, request) }
    let mark = request.headerFields[.mark].flatMap(Int.init) ?? 0
    world.note("the server gets \(request.method) \(path) of \(mark)")
    guard let key = request.headerFields[.idempotencyKeyField] else { return answerNew(request, body, mark) }
    return answer(request, body, mark, key)
  }

  private func read(_ path: String, _ request: HTTPRequest) -> (HTTPResponse, Data) {
    guard let board = board(path) else { return (HTTPResponse(status: .notFound), Data()) }
    let tag = Self.tag(board)
    let reader = request.headerFields[.client].flatMap(Int.init) ?? 0
    let now = now
    state.withLock { $0.readings[path, default: [:]][board.version, default: []].append((reader, now)) }
    let cacheControl = habits.isUnstored ? "no-store" : "max-age=\(habits.maximumAge)"
    let fields: HTTPFields = [.cacheControl: cacheControl, .eTag: tag]
    world.note("the server answers \(path): \(board)")
    guard request.headerFields[.ifNoneMatch] != tag else {
      return (HTTPResponse(status: .notModified, headerFields: fields), Data())
    }
    return (HTTPResponse(status: .ok, headerFields: fields), Self.bytes(board))
  }

  private func answer(_ request: HTTPRequest, _ body: Data?, _ mark: Int, _ key: String) -> (HTTPResponse, Data) {
    let text =
      "\(request.method) \(request.path ?? "") \(request.headerFields[.ifMatch] ?? "") \(String(decoding: body ?? Data(), as: UTF8.self))"
    let now = now
    if let known = state.withLock({ $0.keys[key] }), known.since + habits.memory > now {
      guard known.busyUntil <= now else { return (HTTPResponse(status: .conflict), Data()) }
      world.note("the server repeats its answer to \(mark)")
      guard known.text == text else {
        world.check(false, "one key, two requests: \(known.text), \(text)")
        return (HTTPResponse(status: .unprocessableContent), Data())
      }
      return answered(known.response, known.data)
    }
    let (response, data) = answerNew(request, body, mark)
    guard response.status.code != 503, response.status.code != 500 else { return (response, data) }
    let busy = draws.chance(0.5) ? draws.duration(upTo: habits.processing) : .zero
    state.withLock {
      $0.keys[key] = Remembered(text: text, response: response, data: data, since: now, busyUntil: now + busy)
    }
    return answered(response, data)
  }

  private func answered(_ response: HTTPResponse, _ data: Data) -> (HTTPResponse, Data) {
    guard draws.chance(isWell ? 0 : habits.gatewayError) else { return (response, data) }
    return (HTTPResponse(status: .badGateway), Data())
  }

  /// Answers a request that it does not know.
  private func answerNew(_ request: HTTPRequest, _ body: Data?, _ mark: Int) -> (HTTPResponse, Data) {
    if draws.chance(isWell ? 0 : habits.isBusy) {
      guard draws.chance(0.7) else { return (HTTPResponse(status: .internalServerError), Data()) }
      return (
        HTTPResponse(status: .serviceUnavailable, headerFields: [.retryAfter: "\(draws.number(below: 20))"]), Data()
      )
    }
    guard mark % 7 != 0 || state.withLock({ $0.forgiven.contains(mark) }) else {
      return (
        HTTPResponse(status: .unprocessableContent), Data("no, \(request.headerFields[.authorization] ?? "")".utf8)
      )
    }
    let (answer, isApplied) = request.path == Upload.path ? take(body, mark) : carryOut(request, body, mark)
    if isApplied {
      let client = request.headerFields[.client].flatMap(Int.init) ?? 0
      let now = now
      state.withLock { state in
        let application = Application(mark: mark, client: client, time: now, versions: state.versions(request, mark))
        state.applications[mark, default: []].append(application)
      }
      world.note("the server has carried out \(mark)")
    }
    return request.headerFields[.idempotencyKeyField] == nil ? answered(answer.0, answer.1) : answer
  }

  /// Takes a form, of which each byte must be as it was submitted.
  private func take(_ form: Data?, _ mark: Int) -> (answer: (HTTPResponse, Data), isApplied: Bool) {
    let isWhole = form != nil && form == forms.value[mark]
    world.check(
      isWhole, "of the form \(mark), the server gets \(form?.count ?? 0) bytes, and not those that were copied")
    return ((HTTPResponse(status: .created), Data("{}".utf8)), true)
  }

  private func carryOut(_ request: HTTPRequest, _ body: Data?, _ mark: Int) -> (
    answer: (HTTPResponse, Data), isApplied: Bool
  ) {
    let change = body.flatMap { try? JSONDecoder().decode(CardChange.self, from: $0) } ?? CardChange()
    world.check(
      body == nil || change.price == Price(of: mark), "\(mark) costs \(String(describing: change.price)) at the server")
    let path = request.path ?? ""
    let refusal = { (status: HTTPResponse.Status) in ((HTTPResponse(status: status), Data()), false) }
    guard request.method != .post else { return (add(to: path, change, mark), true) }
    let parts = path.split(separator: "/")
    guard parts.count == 2, let id = Int(parts[1]) else { return refusal(.badRequest) }
    guard let card = board(path)?.cards.first else {
      let isGone = request.method == .delete && habits.removesTwice && state.withLock { $0.removed.contains(path) }
      return isGone ? ((HTTPResponse(status: .noContent), Data()), true) : refusal(.notFound)
    }
    if let tag = request.headerFields[.ifMatch] {
      guard tag == board(path).map(Self.tag) else {
        return refusal(habits.conflictsBy409 ? .conflict : .preconditionFailed)
      }
      if request.method == .put, habits.knowsBases {
        world.check(
          change.title == card.title, "\(mark) would put back a title that it has not changed: \(change), \(card)")
      }
    }
    let now = now
    state.withLock { state in
      state.change("/\(parts[0])", id, now) { cards in
        guard let index = cards.firstIndex(where: { $0.id == id }) else { return }
        if request.method == .delete { return cards.removeAll { $0.id == id } }
        if let title = change.title { cards[index].title = title }
        if let isDone = change.isDone { cards[index].isDone = isDone }
      }
    }
    var fields: HTTPFields = [:]
    if request.method == .put { fields[.eTag] = board(path).map(Self.tag) }
    return ((HTTPResponse(status: .noContent, headerFields: fields), Data()), true)
  }

  private func add(to path: String, _ change: CardChange, _ mark: Int) -> (HTTPResponse, Data) {
    let now = now
    let card = state.withLock { state in
      state.cards += 1
      let card = Card(id: state.cards, title: change.title ?? "", isDone: false, price: Price(of: mark))
      state.change(path, card.id, now) { $0.append(card) }
      state.ids[mark] = card.id
      return card
    }
    // A server that is careless with what it was told.
    let fields: HTTPFields = [.contentType: "application/json", .setCookie: "session=\(Self.secret)somebody"]
    return (HTTPResponse(status: .created, headerFields: fields), Self.bytes(card))
  }

  private static func tag(_ board: Board) -> String { "\"\(board.version)\"" }

  private static func bytes(_ value: some Encodable) -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return (try? encoder.encode(value)) ?? Data()
  }
}
