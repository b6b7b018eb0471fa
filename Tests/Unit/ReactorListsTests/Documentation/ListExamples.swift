import Foundation
import ReactorCore
import ReactorLists
import ReactorWrites
import SwiftUIStandIn

// The Swift code of ReactorLists.docc/ReactorLists.md, which a test compares with it.

struct Post: Codable, Entity {
  var id: Int
  var title: String
}

struct Timeline: Codable {
  var posts: [Post]
  var endCursor: String?
}

struct FeedScreen: View {
  @State private var feed: LiveResource<PageList<[Post]>>
  private let pages: Pages<[Post]>

  init(_ posts: Reactor<[Post]>) {
    pages = posts.pages(from: "feed?limit=20", limit: 5)
    _feed = State(initialValue: LiveResource(pages))
  }

  var body: some View {
    List {
      ForEach(feed.value?.members ?? []) { Text($0.title) }
      if let list = feed.value, list.hasNext {
        ProgressView().task { _ = try? await pages.loadNext() }
      }
    }
    .refreshable { await feed.refresh() }
  }
}

struct ListExamples {
  var layer: ModelLayer
  var posts: Reactor<[Post]>
  var timelines: Reactor<Timeline>

  func ways() -> (Pages<Timeline>, PageTurning<[Post]>) {
    let feed = timelines.pages(from: "timeline", by: .cursor("after", next: \.endCursor))
    let numbered = PageTurning<[Post]>(next: { page, _, resource in
      guard !page.isEmpty, let number = resource.query.first?.value.flatMap(Int.init) else { return nil }
      return Resource("posts", query: ["page": "\(number + 1)"])
    })
    return (feed, numbered)
  }

  func following() async -> Pages<[Post]> {
    let polled = posts.pages(from: "feed", polling: .seconds(30))
    await layer.invalidate(.group("feed"))
    return polled
  }
}
