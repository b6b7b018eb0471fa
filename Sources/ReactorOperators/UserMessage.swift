public import Foundation
import HTTPTypes
public import ReactorCore

extension ReactorError {
  /// A sentence or two for the person in front of the screen, in their language.
  ///
  /// ```swift
  /// catch { banner = error.userMessage() }
  /// ```
  ///
  /// The message is the server's own, if it has one that people can read: the `detail` or `title`
  /// of a problem (RFC 9457), or the `message` of other APIs. It is left out if its
  /// `Content-Language` is another language, and if it has a URL, an address, a code, a word that
  /// may be a token, or more than 300 characters. So is the message of a fault within the server
  /// (500…599), and of a refused credential (401). It is plain text: show it as such.
  ///
  /// Otherwise, the message says what happened and what the person can do, in the words of `texts`.
  /// It names no address, status or other term of the protocol. A wait that the server asks for
  /// (`Retry-After`) is part of the message. For developers and logs, there is `description`.
  ///
  /// - Parameters:
  ///   - locale: The locale whose language is looked up in `texts`, and that formats a wait.
  ///     English replaces a language that `texts` does not have.
  ///   - texts: The texts. Default: English and German.
  ///   - now: The present time, from which a wait until a date is counted.
  public func userMessage(
    locale: Locale = .current, texts: ErrorTexts = ErrorTexts(), now: Date = Date()
  ) -> String {
    let subject = UserSubject(self)
    let wait = subject.response.flatMap { RetryPolicy.retryAfter(in: $0.headerFields, now: now) }
    let words = subject.response.flatMap { ServerWords($0, of: subject.error, for: locale)?.text }
    var message = words ?? texts.text(subject.situation, locale)
    if let wait = wait.flatMap({ WaitText(wait: $0, locale: texts.locale(for: locale)) }) {
      message += " " + texts.text(.retryIn, locale).replacingOccurrences(of: "{time}", with: wait.text)
    } else if words == nil, subject.situation.passes {
      message += " " + texts.text(.retryLater, locale)
    }
    return message
  }
}

/// The error that a message is about: the inner one, where a step has wrapped it.
struct UserSubject {
  let error: ReactorError
  let situation: ErrorTexts.Situation
  /// The server's response, if there is one.
  let response: HTTPResponse?

  init(_ error: ReactorError) {
    let inner = Self.inner(error)
    self.error = inner
    situation = ErrorTexts.Situation(inner)
    if case .server(let response, _) = inner { self.response = response } else { response = nil }
  }

  private static func inner(_ error: ReactorError) -> ReactorError {
    if case .network(let error as ReactorError) = error { inner(error) } else { error }
  }
}

/// A wait in the words of a locale, such as *30 seconds*.
struct WaitText {
  let text: String

  /// Returns `nil` for no wait, and for one of more than two days, which is no advice.
  init?(wait: Duration, locale: Locale) {
    guard wait > .zero, wait <= .seconds(2 * 86_400) else { return nil }
    let seconds = wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0)
    // Rounded up, so that nobody comes back too early.
    let (rounded, unit): (Int64, Duration.UnitsFormatStyle.Unit) =
      switch seconds {
      case ...90: (seconds, .seconds)
      case ...5_400: ((seconds + 59) / 60 * 60, .minutes)
      default: ((seconds + 3_599) / 3_600 * 3_600, .hours)
      }
    text = Duration.seconds(rounded).formatted(.units(allowed: [unit], width: .wide).locale(locale))
  }
}

/// The server's own message, if a person can read it.
struct ServerWords {
  let text: String

  private static let longest = 300
  /// The phrases of statuses (RFC 9110 §15.5), which frameworks send as a title.
  private static let phrases: Set<String> = [
    "bad request", "payment required", "not found", "method not allowed", "not acceptable", "request timeout",
    "precondition failed", "length required", "content too large", "payload too large", "unsupported media type",
    "unprocessable content", "unprocessable entity", "precondition required", "too many requests",
  ]

  init?(_ response: HTTPResponse, of error: ReactorError, for locale: Locale) {
    guard response.status.kind == .clientError, response.status != .unauthorized, Self.speaks(locale, response),
      let words = error.serverMessage?.trimmingCharacters(in: .whitespacesAndNewlines),
      words.count <= Self.longest, Self.isReadable(words),
      !Self.phrases.contains(words.lowercased())
    else { return nil }
    text = words
  }

  private static func speaks(_ locale: Locale, _ response: HTTPResponse) -> Bool {
    guard let languages = response.headerFields[.contentLanguage] else { return true }
    let spoken = languages.split(separator: ",").map {
      Locale(identifier: $0.trimmingCharacters(in: .whitespaces)).language.languageCode
    }
    return spoken.contains(locale.language.languageCode)
  }

  /// Returns `false` for a name of an error, such as `invalid_grant`, for markup and JSON, for what
  /// names a place, and for words that may be a token.
  private static func isReadable(_ text: String) -> Bool {
    guard text.contains(" "), !text.contains(where: \.isNewline), !text.contains("://"),
      !text.contains(where: { "<>{}[]|\\@`".contains($0) })
    else { return false }
    return text.split(separator: " ").allSatisfy { word in
      let hasDigit = word.contains(where: \.isNumber)
      let hasLetter = word.contains(where: \.isLetter)
      // A long compound is a word in German; a code has digits between its letters, or underscores.
      return word.count <= (hasDigit && hasLetter ? 6 : 40) && !word.contains("_") && !word.contains("/")
        && !isAddress(word) && word.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }
  }

  /// Returns `true` for an IP address, a port, and the name of a host; not for a time, a date or an
  /// abbreviation, such as *12:30*, *01.12.2026* and *z.B.*
  private static func isAddress(_ word: Substring) -> Bool {
    let parts = word.split { ".:".contains($0) }
    guard parts.count > 1, let last = parts.last else { return word.contains("::") }
    let isHost = word.dropLast().contains(".") && last.count >= 2 && last.allSatisfy(\.isLetter)
    let hasPort = word.contains(":") && last.count > 2 && last.allSatisfy(\.isNumber)
    return parts.count >= 4 || word.contains("::") || isHost || hasPort
  }
}
