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
  /// The number of characters that are shown.
  private static let longest = 160
  /// The number of characters from which a word may be a token.
  private static let longestWord = 19

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

  /// Returns the words without those that may be a secret or an address: queries of URLs, long
  /// ones, and those with an `@`.
  private static func shown(_ text: String) -> String? {
    let words = Redaction.withoutQueries(String(text.prefix(4 * longest)))
      .split { $0.isWhitespace || $0.unicodeScalars.contains { $0.properties.generalCategory == .control } }
      .map { $0.count > longestWord || $0.contains("@") ? "…" : String($0) }
    let line = words.joined(separator: " ")
    guard !line.isEmpty else { return nil }
    return line.count > longest ? line.prefix(longest) + "…" : line
  }
}
