import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox

/// The mutations of the world: each is an errand, and the way to ask the server for it.
protocol ErrandMutation: Mutation {
  init(errand: Errand)
  var errand: Errand { get }
}

extension ErrandMutation {
  var lane: Lane { Lane(rawValue: errand.lane) }

  func draft(_ drafts: inout Drafts) {
    for path in errand.paths {
      drafts.replace(Board.self, at: Resource(path)) { [errand] in errand.drawn(over: $0, at: path) }
    }
  }

  /// Makes a request, which takes a while.
  func request(_ path: String, _ method: HTTPRequest.Method, _ body: CardChange?) async throws -> Resource {
    if errand.delay > 0 { try await ThreadClock.current?.sleep(for: .milliseconds(errand.delay)) }
    let fields: HTTPFields = [.mark: "\(errand.mark)"]
    guard let body else { return Resource(path, method: method, headers: fields) }
    var priced = body
    priced.price = errand.price
    return try Resource(path, method: method, headers: fields, json: priced)
  }
}

/// The body of a request.
struct CardChange: Codable, Sendable {
  var title: String?
  var isDone: Bool?
  var price: Price?
}

extension HTTPField.Name {
  /// The field with an errand's mark.
  static let mark = HTTPField.Name("X-Mark") ?? .range
  /// The field with the number of the process that sends.
  static let client = HTTPField.Name("X-OutboxClient") ?? .range
  static let idempotencyKeyField = HTTPField.Name("Idempotency-Key") ?? .range
}

struct AddCard: ErrandMutation {
  typealias Answer = Card

  var errand: Errand

  func request(_ known: Known) async throws -> Resource {
    try await request(errand.board, .post, CardChange(title: errand.title))
  }
  func settle(_ card: Card, _ settlement: inout Settlement) { settlement.identify(errand.card, as: card.id) }
}

struct RenameCard: ErrandMutation {
  var errand: Errand

  func request(_ known: Known) async throws -> Resource {
    var resource = try await request(errand.page, .patch, CardChange(title: errand.title))
    if errand.isConditional { resource.headers[.ifMatch] = try await known.entityTag(of: Resource(errand.page)) }
    return resource
  }
}

struct RemoveCard: ErrandMutation {
  var errand: Errand

  func request(_ known: Known) async throws -> Resource { try await request(errand.page, .delete, nil) }
}

/// Sends the whole card, made from the known one, unless it has changed on the server since.
protocol CheckingMutation: ErrandMutation {}

extension CheckingMutation {
  func request(_ known: Known) async throws -> Resource {
    let page = Resource(errand.page)
    guard errand.isConditional, let card = await known.value(Board.self, at: page)?.cards.first else {
      return try await request(errand.page, .patch, CardChange(isDone: errand.isDone))
    }
    var resource = try await request(errand.page, .put, CardChange(title: card.title, isDone: errand.isDone))
    resource.headers[.ifMatch] = try await known.entityTag(of: page)
    return resource
  }
}

struct CheckCard: CheckingMutation {
  var errand: Errand
}

struct CheckCardAsking: CheckingMutation {
  static var onConflict: ConflictPolicy { .ask }
  var errand: Errand
}

struct CheckCardOnce: CheckingMutation {
  static var onConflict: ConflictPolicy { .refuse }
  var errand: Errand
}

/// Would send more than an outbox saves.
struct AddPhoto: ErrandMutation {
  private static let photo = Data(repeating: UInt8(ascii: "x"), count: StoredEntry.byteLimit)

  var errand: Errand

  func request(_ known: Known) async throws -> Resource {
    var resource = try await request(errand.board, .post, nil)
    resource.body = Self.photo
    return resource
  }
}

/// Would put a secret into its URL, which no file may hold.
struct LeakSecret: ErrandMutation {
  var errand: Errand

  func request(_ known: Known) throws -> Resource {
    Resource(
      "\(errand.board)?access_token=\(BoardServer.secret)\(errand.owner)", method: .delete,
      headers: [.mark: "\(errand.mark)"])
  }
}
