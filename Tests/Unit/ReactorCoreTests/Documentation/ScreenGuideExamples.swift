import Foundation
import Observation
import ReactorCore
import ReactorWrites

#if canImport(SwiftUI)
  import SwiftUI
#else
  import SwiftUIStandIn
#endif

#if canImport(UIKit)
  import UIKit
#else
  import class SwiftUIStandIn.UIViewController
#endif

// The Swift code of ListsAndDetails.md and ObservingValues.md in ReactorCore.docc, which a test
// compares with it.

extension UIViewController {
  fileprivate func show(_ stories: [ScreenGuide.Story], isLoading: Bool) {}
}

/// The declarations that the two guides take as given, and the views that they show.
enum ScreenGuide {
  static let news = News(layer: ModelLayer(baseURL: URL(filePath: "/")))

  static func text(for error: ReactorError) -> String? { error.description }

  // MARK: Lists and details

  struct Story: Codable, Hashable, Identifiable, Sendable {
    let id: Int
    let title: String
    var text: String?
  }

  struct News: Sendable {
    let layer: ModelLayer

    var stories: Reactor<[Story]> { layer.reactor() }
    var story: Reactor<Story> { layer.reactor() }
  }

  struct StoryList: View {
    @State private var stories = LiveResource(news.stories, "stories")

    var body: some View {
      List(stories.value ?? []) { story in
        NavigationLink(story.title, value: story)
      }
      .overlay { if stories.value == nil && stories.isLoading { ProgressView() } }
      .refreshable { await stories.refresh() }
      .navigationDestination(for: Story.self) { StoryScreen($0) }
    }
  }

  struct StoryScreen: View {
    let summary: Story
    @State private var story: LiveResource<Story>

    init(_ summary: Story) {
      self.summary = summary
      _story = State(initialValue: LiveResource(news.story, "stories/\(summary.id)"))
    }

    var body: some View {
      Text(story.value?.text ?? summary.title)
        .overlay { if story.isLoading { ProgressView() } }
    }
  }

  struct WarmList: View {
    @State private var stories = LiveResource(news.stories, "stories")

    var body: some View {
      List(stories.value ?? []) { story in
        NavigationLink(story.title, value: story)
          .task { _ = try? await news.story.fetch("stories/\(story.id)") }
      }
    }
  }

  static func rename(_ draft: Story) async throws {
    try await news.layer.send(Resource("stories/\(draft.id)", method: .put, json: draft))
    await news.stories.invalidate("stories")
  }

  struct Headline: Codable, Entity, Equatable {
    let id: Int
    var title: String
  }

  struct FrontPage: Codable, EntityContainer {
    var lead: Headline
    var others: [Headline]

    mutating func updateMembers(_ body: (Headline) -> Headline?) {
      lead = body(lead) ?? lead
      others.updateMembers(body)
    }
  }

  static func correctedHeadlines(in layer: ModelLayer) async throws -> [Headline]? {
    struct Headline: Codable, Entity, Equatable {
      let id: Int
      var title: String
    }

    let headlines = layer.reactor([Headline].self)
    let headline = layer.reactor(Headline.self)
    _ = try await headlines.fetch("headlines")
    _ = try await headline.fetchFromNetwork("headlines/7")
    // Number 7 was just fetched.
    let list = headlines.cached("headlines")
    return list?.map { ScreenGuide.Headline(id: $0.id, title: $0.title) }
  }

  static func removeHeadline(from layer: ModelLayer) {
    layer.remove(Headline.self, id: 7)
  }

  @MainActor @Observable
  final class StoryPages {
    private(set) var stories: [Story] = []
    private(set) var error: ReactorError?
    private(set) var next: Resource? = "stories"

    func loadMore() async {
      guard let resource = next else { return }
      do {
        let page = try await news.stories.fetchResponse(resource)
        guard next == resource else { return }
        next = try page.link(rel: "next")
        stories += page.model
        error = nil
      } catch .cancelled {
      } catch {
        self.error = error
      }
    }
  }

  struct EndlessList: View {
    @State private var pages = StoryPages()

    var body: some View {
      List {
        ForEach(pages.stories) { Text($0.title) }
        if pages.error != nil {
          Button("Try again") { Task { await pages.loadMore() } }
        } else if pages.next != nil {
          ProgressView().task(id: pages.next) { await pages.loadMore() }
        }
      }
    }
  }

  // MARK: Observing

  struct Headlines: View {
    @State private var stories = LiveResource(news.stories, "stories")

    var body: some View {
      switch stories.state.phase {
      case .loading: ProgressView()
      case .loaded(let stories): List(stories) { Text($0.title) }
      case .failed(let error): Text(text(for: error) ?? "")
      }
    }
  }

  @MainActor
  static func polling() -> LiveResource<[Story]> {
    let stories = LiveResource(news.stories.states(for: "stories", polling: .seconds(30)))
    return stories
  }

  @MainActor
  static func previewed() -> LiveResource<[Story]> {
    let preview = LiveResource(
      AsyncStream<LoadState<[Story]>> { states in
        states.yield(LoadState(value: [Story(id: 1, title: "Hello")]))
        states.finish()
      })
    return preview
  }

  final class StoriesController: UIViewController {
    private let stories = LiveResource(news.stories, "stories")

    override func viewWillLayoutSubviews() {
      super.viewWillLayoutSubviews()
      show(stories.value ?? [], isLoading: stories.isLoading)
    }
  }

  final class VisibleStoriesController: UIViewController {
    private var observing: Task<Void, Never>?

    override func viewWillAppear(_ animated: Bool) {
      super.viewWillAppear(animated)
      observing?.cancel()
      observing = Task { [weak self] in
        for await state in news.stories.states(for: "stories") {
          self?.show(state.value ?? [], isLoading: state.fetchStatus == .fetching)
        }
      }
    }

    override func viewDidDisappear(_ animated: Bool) {
      super.viewDidDisappear(animated)
      observing?.cancel()
    }
  }

  @MainActor
  final class Badge {
    private(set) var count = 0

    init() {
      news.stories.observe("stories", for: self) { badge, state in
        badge.count = state.value?.count ?? 0
      }
    }
  }

  static func ahead(_ ids: [Int]) async -> [Story] {
    let ahead = news.story.prefetch("stories/7")  // the row comes into view
    ahead.cancel()  // it has left

    let results = await news.story.fetchAll(ids.map { "stories/\($0)" }, maximumConcurrency: 4)
    let found = results.compactMap { try? $0.get() }
    return found
  }

  struct SearchIndex {
    func replace(with stories: [Story]) async {}
  }

  static func keepingAnIndex(_ index: SearchIndex) async {
    var indexed: UInt64 = 0
    for await state in news.stories.states(for: "stories") {
      guard let stories = state.value, state.valueRevision != indexed else { continue }
      await index.replace(with: stories)
      indexed = state.valueRevision
    }
  }
}
