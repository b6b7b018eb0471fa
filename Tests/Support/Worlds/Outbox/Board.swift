import Foundation
import ReactorCore
import ReactorOutbox

/// Cards, as the server has them at one version: those of a board, or the one of a card's own page.
/// No draft changes the version.
struct Board: Codable, Sendable, Hashable {
  var version: Int
  var cards: [Card]
}

struct Card: Codable, Sendable, Hashable {
  var id: Int
  var title: String
  var isDone: Bool
  var price: Price
}

/// Numbers that a double does not hold: each way of an errand must keep them exactly.
struct Price: Codable, Sendable, Hashable {
  var amount: Decimal
  var number: UInt64

  init(of mark: Int) {
    amount = Decimal(sign: .plus, exponent: -9, significand: 1_234_567_890_123_456_789) + Decimal(mark)
    number = 1 << 63 | UInt64(mark)
  }
}

/// A user's wish for a board. All mutations have one, so that the reference knows their drafts.
struct Errand: Codable, Sendable, Hashable {
  enum Kind: String, Codable, Sendable { case add, rename, check, remove, leak, photo, upload }

  /// By which the server and the reference know it, whatever happens to its ids.
  var mark: Int
  var owner: String
  var kind: Kind
  var board: String
  var card: TemporaryID
  var title = ""
  var isDone = false
  var isConditional = false
  var lane: String
  var price: Price
  /// The time that its request takes to be made, in milliseconds.
  var delay = 0

  /// The path of the card's own page.
  var page: String { "\(board)/\(card.int)" }

  /// The paths over whose values it lays a draft.
  var paths: [String] { isNeverSent || kind == .upload ? [] : [board, page] }

  /// The outbox refuses its request.
  var isNeverSent: Bool { kind == .leak || kind == .photo }

  /// Returns what its draft makes of the value of a path.
  func drawn(over value: Board?, at path: String) -> Board? {
    guard var value else { return kind == .add && path == page ? Board(version: 0, cards: [made]) : nil }
    let index = value.cards.firstIndex { $0.id == card.int }
    switch kind {
    case .add: if index == nil { value.cards.append(made) }
    case .rename: if let index { value.cards[index].title = title }
    case .check: if let index { value.cards[index].isDone = isDone }
    case .remove:
      guard path == board else { return nil }
      value.cards.removeAll { $0.id == card.int }
    case .leak, .photo, .upload: break
    }
    return value
  }

  private var made: Card { Card(id: card.int, title: title, isDone: false, price: price) }

  /// The server refuses some until it has changed its mind.
  var isRefused: Bool { mark % 7 == 0 }
}

extension Errand: CustomStringConvertible {
  var description: String {
    "\(kind) \(mark) of \(board)/\(card.isTemporary ? "\(card.string.prefix(8))" : card.string)"
  }
}
