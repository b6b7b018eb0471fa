import TestSupport
import Testing

/// Finds references that point back: from a folder to a folder below it in the list.
private struct Layers {
  /// Each folder knows those above it and beside it. The files beside the folders are what users
  /// hold: they know everything, and everything may know them.
  static let order = [
    ["Support/Values"], ["Support/Concurrency"], ["Resource"], ["Steps/Parsing"], ["Steps/Network"],
    ["Support/Events"], ["State"], ["Layer"], ["Steps/Flow"], ["Engine", "Fetch", "Write", "Observe"],
  ]
  /// A resource caches its own slot of a reader's table: decision 0014.
  static let exceptions: Set = ["Resource/Resource.swift: InlineSlot"]

  /// By path from the module's folder.
  let sources: [String: String]

  func violations() -> [String] {
    let homes = homes()
    return sources.sorted { $0.key < $1.key }.flatMap { path, text -> [String] in
      guard let own = Self.rank(of: path) else { return [] }
      // A nested type may have the name of another folder's.
      let ownNames = Set(Self.words(in: text).filter(\.isDeclared).map(\.name))
      return Self.words(in: text).compactMap { word in
        guard !ownNames.contains(word.name), let home = homes[word.name], home.rank > own else { return nil }
        guard !Self.exceptions.contains("\(path): \(word.name)") else { return nil }
        return "\(path):\(word.line): \(word.name), which is in \(home.path)"
      }
    }
  }

  /// Returns the file of each top-level type.
  private func homes() -> [String: (path: String, rank: Int)] {
    var homes: [String: (path: String, rank: Int)] = [:]
    for (path, text) in sources {
      guard let rank = Self.rank(of: path) else { continue }
      for word in Self.words(in: text) where word.isDeclared && word.isTopLevel { homes[word.name] = (path, rank) }
    }
    return homes
  }

  /// `nil` for a file beside the folders.
  private static func rank(of path: String) -> Int? {
    guard path.contains("/") else { return nil }
    return order.firstIndex { $0.contains { path.hasPrefix("\($0)/") } } ?? order.count
  }

  private struct Word {
    var name: String
    var line: Int
    var isDeclared: Bool
    var isTopLevel: Bool
  }

  private static let declaring: Set<Substring> = ["struct", "class", "enum", "protocol", "typealias", "actor"]

  /// The names of types in code: not those in comments and in literals of strings.
  private static func words(in text: String) -> [Word] {
    var words: [Word] = []
    var isInText = false
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      if line.contains("\"\"\"") { isInText.toggle() }
      guard !isInText else { continue }
      let code = withoutTextAndComments(line)
      var previous: Substring = ""
      for word in code.split(whereSeparator: { !$0.isLetter && !$0.isNumber && $0 != "_" }) {
        defer { previous = word }
        guard word.first?.isUppercase == true else { continue }
        words.append(
          Word(
            name: String(word), line: index + 1, isDeclared: declaring.contains(previous),
            isTopLevel: line.first?.isWhitespace == false))
      }
    }
    return words
  }

  private static func withoutTextAndComments(_ line: Substring) -> String {
    let parts = line.replacing("\\\"", with: "").split(separator: "\"", omittingEmptySubsequences: false)
    var code = ""
    for (index, part) in parts.enumerated() where index.isMultiple(of: 2) {
      if let comment = part.firstRange(of: "//") { return code + part[..<comment.lowerBound] }
      code += "\(part) "
    }
    return code
  }
}

@Suite struct `Layers of ReactorCore` {
  private static let root = "Sources/ReactorCore/"

  private static func sources() throws -> [String: String] {
    var sources: [String: String] = [:]
    for path in Repository.swiftFiles(in: "Sources/ReactorCore") {
      sources[String(path.dropFirst(root.count))] = try Repository.text(of: path)
    }
    return sources
  }

  @Test func `each layer of ReactorCore refers only to the layers above it`() throws {
    let sources = try Self.sources()
    #expect(sources.count > 60)
    #expect(Layers(sources: sources).violations() == [])
  }

  @Test func `every folder of ReactorCore is in the list of layers`() throws {
    let paths = try Self.sources().keys.filter { $0.contains("/") }
    let listed = Layers.order.joined()
    #expect(paths.filter { path in !listed.contains { path.hasPrefix("\($0)/") } } == [])
    #expect(listed.filter { folder in !paths.contains { $0.hasPrefix("\(folder)/") } } == [])
  }

  @Test func `every exception to the layers is needed`() throws {
    for exception in Layers.exceptions {
      let parts = exception.split(separator: " ").map(String.init)
      let text = try #require(try Self.sources()[String(parts[0].dropLast())])
      #expect(text.contains(parts[1]))
    }
  }

  @Test func `a reference against the layers is reported with its file, line and type`() {
    let below = ("Engine/Shell.swift", "struct Shell { enum Step {} }\n")
    let above = """
      import Foundation
      // Shell is only named here, and "Shell" here.
      let text = "Shell"
      func run(_ shell: Shell) {}
      """
    #expect(
      Layers(sources: ["Support/Values/Value.swift": above, below.0: below.1]).violations()
        == ["Support/Values/Value.swift:4: Shell, which is in Engine/Shell.swift"])
    #expect(Layers(sources: ["Value.swift": above, below.0: below.1]).violations().isEmpty)
    #expect(
      Layers(sources: ["Support/Values/Value.swift": "struct Value { enum Step {} }", below.0: below.1]).violations()
        .isEmpty)
  }
}
