import Foundation
import ReactorCore

/// The third step of the demo: a separate process that fetches the articles over the same store.
enum SecondProcess {
  /// The first argument of the process. The URL of the news API and the store's directory follow.
  static let command = "fetch"

  /// Fetches the articles, and prints each event and the number of articles.
  static func main(_ arguments: [String]) async throws {
    guard arguments.count == 3, let url = URL(string: arguments[1]) else { throw URLError(.badURL) }
    let layer = try DemoLayer.open(url, in: URL(filePath: arguments[2], directoryHint: .isDirectory))
    let token = layer.observeEvents { event in
      // A later step is about the pruned elements.
      if case .pruned = event.kind { return }
      DemoReport.printLine("\(event)")
    }
    let articles = try await layer.reactor([Article].self).fetch("articles")
    token.cancel()
    DemoReport.printLine("\(articles.count) articles")
  }

  /// Runs this program with ``command``, and returns its exit code and the lines that it printed.
  static func run(_ url: URL, _ directory: URL) async throws -> (status: Int32, lines: [String]) {
    guard let program = Bundle.main.executableURL else {
      throw DemoReport.NotAsClaimed(description: "the path of this program is unknown; run it by its full path")
    }
    let arguments = [command, url.absoluteString, directory.path(percentEncoded: false)]
    return try await withCheckedThrowingContinuation { continuation in
      // On a separate thread, since it blocks.
      Thread.detachNewThread { continuation.resume(with: Result { try run(program, arguments) }) }
    }
  }

  private static func run(_ program: URL, _ arguments: [String]) throws -> (status: Int32, lines: [String]) {
    let (process, output) = (Process(), Pipe())
    process.executableURL = program
    process.arguments = arguments
    process.standardOutput = output
    try process.run()
    try output.fileHandleForWriting.close()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    let lines = String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    return (process.terminationStatus, lines)
  }
}
