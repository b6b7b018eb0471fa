import Foundation
import NewsClient
import ReactorCore

/// `newsreader [URL]`: the news in a terminal. Type an article's number to open it, return for the
/// list, `q` to leave.
@main
@MainActor
struct NewsReaderCommand {
  let model: NewsModel

  static func main() async throws {
    let address = CommandLine.arguments.dropFirst().first ?? "http://127.0.0.1:8081"
    guard let api = URL(string: address), api.scheme != nil else {
      print("usage: newsreader [URL of the API]")
      exit(64)
    }
    let directory = FileManager.default.temporaryDirectory.appending(path: "newsreader-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: directory) }
    try await NewsReaderCommand(model: NewsReader(api: api, directory: directory).model).run()
  }

  private func run() async {
    var showing = show(model.headlines.states(for: .articles), list)
    for await line in lines {
      showing.cancel()
      if line == "q" { return }
      if let id = Int(line) {
        showing = show(model.articles.states(for: .article(id)), article)
      } else {
        showing = show(model.headlines.states(for: .articles), list)
      }
    }
    showing.cancel()
  }

  /// Prints each state until it is cancelled.
  private func show<Model>(_ states: LoadStates<Model>, _ text: @escaping (Model) -> String) -> Task<Void, Never> {
    Task {
      var shown: UInt64 = 0
      for await state in states {
        if let value = state.value, state.valueRevision != shown {
          shown = state.valueRevision
          print("\n" + text(value))
        }
        print(status(of: state))
      }
    }
  }

  private func status<Model>(of state: LoadState<Model>) -> String {
    let doing =
      switch state.fetchStatus {
      case .fetching: "loading" + (state.progress.map { " \(Int($0.fractionCompleted * 100)) %" } ?? "")
      case .paused: "waiting for a connection"
      case .idle: "done"
      }
    let known = state.origin.map { "from \($0)\(state.isStale ? ", stale" : "")" } ?? "nothing yet"
    return "── \(doing) · \(known)" + (state.error.map { " · \($0)" } ?? "")
  }

  private func list(_ articles: [ArticleSummary]) -> String {
    articles.map { "\(String($0.id).leftPadded(3))  \($0.title)  (\($0.section))" }.joined(separator: "\n")
  }

  private func article(_ article: Article) -> String {
    ([article.summary.title, "by \(article.summary.author.name)"] + article.paragraphs).joined(separator: "\n\n")
  }

  /// The lines of the standard input, read on a separate thread.
  private var lines: AsyncStream<String> {
    let (stream, continuation) = AsyncStream.makeStream(of: String.self)
    Thread.detachNewThread {
      while let line = readLine() { continuation.yield(line) }
      continuation.finish()
    }
    return stream
  }
}

extension String {
  fileprivate func leftPadded(_ width: Int) -> String {
    String(repeating: " ", count: max(0, width - count)) + self
  }
}
