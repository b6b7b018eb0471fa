import Foundation
import ReactorTesting
import ReactorWrites

@testable import ReactorCore

/// Drafts that are counted for as long as something holds their closures.
struct LivingDrafts: Sendable {
  private final class Token: Sendable {
    private let count: Shared<Int>

    init(_ count: Shared<Int>) {
      self.count = count
      count.change { $0 += 1 }
    }

    deinit { count.change { $0 -= 1 } }
  }

  private let alive = Shared(0)

  var count: Int { alive.value }

  /// Returns a draft that gives an article the title *mine*.
  func make(ofArticle id: Int) -> Draft {
    let token = Token(alive)
    return Draft(id: UUID(), entity: id, of: Article.self) { article in
      withExtendedLifetime(token) { Article(article.id, "mine") }
    }
  }

  /// Returns a draft that makes a list of the one note *mine*.
  func make(of key: RecordKey) -> Draft {
    let token = Token(alive)
    return Draft(id: UUID(), key: key, of: [String].self) { _ in withExtendedLifetime(token) { ["mine"] } }
  }
}
