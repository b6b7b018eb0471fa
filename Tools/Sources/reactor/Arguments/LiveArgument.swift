import ArgumentParser

/// The path of the stream of changes, as in `/events`.
enum LiveArgument {
  static func parse(_ text: String) throws -> String {
    let segments = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    // Only characters that have one spelling in a URL (RFC 3986 §2.3).
    let isPlain = text.unicodeScalars.allSatisfy {
      $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains($0) || "/-._~".unicodeScalars.contains($0))
    }
    guard text.hasPrefix("/"), isPlain, !segments.contains(where: { ["", ".", ".."].contains($0) }) else {
      throw ValidationError("give a path of letters, digits, hyphens, points and underscores, such as /events")
    }
    return text
  }
}
