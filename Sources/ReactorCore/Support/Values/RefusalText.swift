import Foundation
import HTTPTypes

/// The words of a server that has refused a credential, for the text of an error.
///
/// Only the answers 401 and 403 are read, whose words say what is wrong with the credential. Other
/// bodies hold data, and stay out of texts.
struct RefusalText {
  /// At most ``longest`` characters in one line; `nil` if the server has said nothing.
  let text: String?

  /// The size in bytes up to which a body is read.
  private static let largestBody = 16_384
  /// The number of Unicode scalars that are shown.
  private static let longest = 160
  /// The number of scalars up to which a word is shown, and one with a digit: a longer one may be a
  /// token or a number of a person.
  private static let (longestWord, longestNumber) = (19, 3)

  init(_ response: HTTPResponse, _ body: Data) {
    guard [401, 403].contains(response.status.code), body.count <= Self.largestBody,
      let words = try? JSONDecoder().decode(Words.self, from: body)
    else {
      text = nil
      return
    }
    text = words.text.flatMap(Self.shown)
  }

  /// The title and the detail of a problem (RFC 9457), the description of an OAuth error (RFC 6749
  /// §5.2), or a message as most APIs spell it.
  private struct Words: Decodable {
    let text: String?

    private enum CodingKeys: String, CodingKey {
      case title, detail, message, error
      case description = "error_description"
    }

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: CodingKeys.self)
      func string(_ key: CodingKeys) -> String? {
        guard let text = try? members.decode(String.self, forKey: key), !text.isEmpty else { return nil }
        return text
      }
      let problem = [string(.title), string(.detail)].compactMap(\.self)
      text =
        problem.isEmpty
        ? string(.description) ?? string(.message) ?? string(.error)
          ?? (try? members.decode(Words.self, forKey: .error))?.text
        : problem.joined(separator: ": ")
    }
  }

  /// Returns the words except possible secrets and addresses: queries of URLs, long words, words
  /// with an `@`, and words with digits that are longer than a status.
  private static func shown(_ text: String) -> String? {
    let scalars = text.unicodeScalars
    let isCut = scalars.count > 4 * longest
    var words = Redaction.withoutQueries(String(scalars.prefix(4 * longest))).unicodeScalars
      .split { $0.properties.isWhitespace || isInvisible($0) }
    // What is left of a word that was cut may be the beginning of a token.
    if isCut { _ = words.popLast() }
    let line = words.map { mayBeSecret($0) ? "…" : String($0) }.joined(separator: " ")
    guard !line.isEmpty else { return nil }
    let shown = line.unicodeScalars.prefix(longest)
    return shown.count < line.unicodeScalars.count ? String(shown) + "…" : line
  }

  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    [.control, .format].contains(scalar.properties.generalCategory)
  }

  private static func mayBeSecret(_ word: Substring.UnicodeScalarView) -> Bool {
    let hasDigit = word.contains { $0.properties.numericType != nil }
    return word.count > (hasDigit ? longestNumber : longestWord) || word.contains("@")
  }
}
