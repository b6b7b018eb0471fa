import Foundation

/// The files of this clone, by their path from its root.
public enum Repository {
  private static let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  public static func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: root.appending(path: path).path)
  }

  public static func text(of path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  public static func markdown(_ path: String) throws -> Markdown { Markdown(try text(of: path)) }

  /// The Markdown files that are ours: not those of hidden directories, which are built or fetched.
  public static func markdownFiles() throws -> [String] {
    let top = try FileManager.default.contentsOfDirectory(atPath: root.path).filter { $0.hasSuffix(".md") }
    let below = ["Documentation", "Sources"].flatMap { folder in
      let files = FileManager.default.enumerator(atPath: root.appending(path: folder).path)
      return (files?.compactMap { $0 as? String } ?? []).filter { $0.hasSuffix(".md") }.map { "\(folder)/\($0)" }
    }
    return (top + below).sorted()
  }

  public static func swiftFiles(in folder: String) -> [String] {
    let files = FileManager.default.enumerator(atPath: root.appending(path: folder).path)
    return (files?.compactMap { $0 as? String } ?? []).filter { $0.hasSuffix(".swift") }.map { "\(folder)/\($0)" }
  }

  /// Returns the target of `link` in `document`.
  public static func path(_ link: String, from document: String) -> String {
    var parts = document.split(separator: "/").dropLast().map(String.init)
    for part in link.split(separator: "/") where part != "." {
      if part == ".." { _ = parts.popLast() } else { parts.append(String(part)) }
    }
    return parts.joined(separator: "/")
  }
}

/// As much of a Markdown file as the tests of the documentation look at.
public struct Markdown: Sendable {
  public struct Block: Sendable {
    /// Of its first line, counted from 1.
    public var line: Int
    public var text: String
  }

  public struct Link: Sendable {
    public var line: Int
    public var target: String
  }

  public let lines: [String]
  /// Each line, and the language of the code block that it stands in.
  private let marked: [(line: String, language: String?)]

  public init(_ text: String) {
    lines = text.trimmingCharacters(in: .newlines).split(separator: "\n", omittingEmptySubsequences: false)
      .map(String.init)
    var language: String?
    marked = lines.map { line in
      guard line.hasPrefix("```") else { return (line, language) }
      language = language == nil ? String(line.dropFirst(3)) : nil
      return ("", nil)
    }
  }

  public func blocks(of language: String) -> [Block] {
    var blocks: [Block] = []
    var isOpen = false
    for (index, line) in marked.enumerated() {
      guard line.language == language else {
        isOpen = false
        continue
      }
      if isOpen {
        blocks[blocks.count - 1].text += "\n\(line.line)"
      } else {
        blocks.append(Block(line: index + 1, text: line.line))
      }
      isOpen = true
    }
    return blocks
  }

  /// Those written `[text](target)`, outside of code.
  public var links: [Link] {
    marked.enumerated().filter { $0.element.language == nil }.flatMap { index, line in
      line.line.matches(of: #/\[[^\]]*\]\((?<target>[^)\s]+)\)/#).map {
        Link(line: index + 1, target: String($0.target))
      }
    }
  }

  /// Of the headings, made as GitHub makes them.
  public var anchors: Set<String> {
    Set(
      marked.filter { $0.language == nil && $0.line.hasPrefix("#") }.map { line, _ in
        line.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces).lowercased()
          .filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }
          .replacing(" ", with: "-")
      })
  }
}
