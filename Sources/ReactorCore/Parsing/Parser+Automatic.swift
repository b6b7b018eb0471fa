import Foundation

extension Parser {
  public static func automatic(keyPath: String? = nil, mode: ParsingMode = .prune) -> Parser<Model> {
    Parser { _ in throw ParserError(.unsupported, expected: "") }
  }
}
