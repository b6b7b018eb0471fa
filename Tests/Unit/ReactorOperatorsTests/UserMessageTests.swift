import Foundation
import HTTPTypes
import ReactorCore
import Testing

@testable import ReactorOperators

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private let english = Locale(identifier: "en_US")
private let german = Locale(identifier: "de_AT")

private struct Odd: Error {}

private func answer(
  _ code: Int, _ body: String = "", _ type: String = "application/problem+json", fields: HTTPFields = [:]
) -> ReactorError {
  var fields = fields
  fields[.contentType] = type
  return .server(HTTPResponse(status: .init(code: code), headerFields: fields), body: Data(body.utf8))
}

/// The text of an error for the person in front of the screen.
@Suite struct `A message for people` {
  private static let secret = "https://api.example.com/v1?token=s3cret"

  /// Errors of each case. `ErrorTexts.Situation` does not compile without a case that is added.
  private static let errors: [ReactorError] = {
    let statuses = [400, 401, 403, 404, 408, 409, 410, 412, 413, 418, 422, 429, 500, 502, 503, 504]
    let transport: [TransportError] = [
      .responseTooLarge(limit: 5, request: secret), .tooManyRedirects(limit: 5), .tooManyFields(limit: 5),
      .invalidResponse(secret), .notConnected(secret), .notSecure(secret), .connectionFailed(secret),
      .tooManyUnread(limit: 5),
    ]
    let codes: [URLError.Code] = [
      .notConnectedToInternet, .timedOut, .cancelled, .secureConnectionFailed, .badServerResponse,
      .dataLengthExceedsMaximum, .userAuthenticationRequired, .cannotFindHost, .unknown,
    ]
    return [
      .noConnectivity, .cancelled, .timedOut(request: secret), .notCached, .invalidResource(secret), .network(Odd()),
      .network(ReactorError.timedOut), .authentication(Odd()), .persistence(Odd()), .deadlock(keys: []),
      .streamingUnsupported,
    ] + statuses.map { answer($0, #"{"detail":"\#(secret)"}"#) } + transport.map { .network($0) }
      + codes.map { .network(URLError($0)) }
  }()

  @Test(arguments: [english, german])
  func `a message has no URL, code, digit or technical word`(_ locale: Locale) {
    let technical = [
      "http", "url", "json", "status", "request", "response", "cache", "timeout", "error", "parse", "decode",
      "transport", "persist", "deadlock", "nil", "s3cret", "://", "example", "anfrage", "fehlercode",
    ]
    for error in Self.errors {
      let message = error.userMessage(locale: locale)
      #expect(message.count > 10 && message.hasSuffix("."), "\(error)")
      for word in technical { #expect(!message.lowercased().contains(word), "\(message)") }
      #expect(!message.contains { $0.isNumber }, "\(message)")
    }
  }

  @Test func `a message exists for each situation, in each language`() {
    let texts = ErrorTexts()
    #expect(texts.languages == ["en", "de"])
    for language in texts.languages {
      for situation in ErrorTexts.Situation.allCases {
        #expect(texts[language, situation]?.isEmpty == false, "\(language) has no text for \(situation)")
      }
      #expect(texts[language, .retryIn]?.contains("{time}") == true)
    }
    #expect(Set(ErrorTexts.Situation.allCases).count == ErrorTexts.Situation.allCases.count)
    // Of each error, the situation is one of those.
    #expect(Self.errors.allSatisfy { ErrorTexts.Situation.allCases.contains(.init($0)) })
  }

  @Test(arguments: [
    (ReactorError.noConnectivity, "You are offline. Try again when you have a connection."),
    (.network(URLError(.notConnectedToInternet)), "You are offline. Try again when you have a connection."),
    (.network(ReactorError.noConnectivity), "You are offline. Try again when you have a connection."),
    (
      .network(TransportError.notSecure("x")),
      "There is no secure connection to the server. Check your network and try again."
    ),
    (.authentication(ReactorError.SignedOut()), "Please sign in again."),
    (answer(404), "This could not be found."),
    (answer(503), "The server is not available at the moment. Try again later."),
    (answer(502), "Something went wrong on the server. Try again later."),
  ])
  func `a message says what happened`(_ error: ReactorError, _ message: String) {
    #expect(error.userMessage(locale: english) == message)
  }

  @Test(arguments: [
    ("1", "Try again in 1 second.", "Bitte in 1 Sekunde erneut versuchen."),
    ("30", "Try again in 30 seconds.", "Bitte in 30 Sekunden erneut versuchen."),
    ("91", "Try again in 2 minutes.", "Bitte in 2 Minuten erneut versuchen."),
    ("3600", "Try again in 60 minutes.", "Bitte in 60 Minuten erneut versuchen."),
    ("5401", "Try again in 2 hours.", "Bitte in 2 Stunden erneut versuchen."),
    ("172801", "Try again later.", "Bitte später erneut versuchen."),
    ("99999999999999999999", "Try again later.", "Bitte später erneut versuchen."),
    ("0", "Try again later.", "Bitte später erneut versuchen."),
    ("Sun, 06 Nov 1994 08:49:37 GMT", "Try again in 7 seconds.", "Bitte in 7 Sekunden erneut versuchen."),
  ])
  func `a message has the wait that the server asks for, in the locale's words`(
    _ wait: String, _ english: String, _ german: String
  ) throws {
    let error = answer(429, fields: [.retryAfter: wait])
    let now = Date(timeIntervalSince1970: 784_111_770)
    let messages = ["en_GB", "de_DE"].map { error.userMessage(locale: Locale(identifier: $0), now: now) }
    #expect(messages == ["That was too often in a short time. \(english)", "Das war zu oft in kurzer Zeit. \(german)"])
  }

  @Test(arguments: [
    answer(422, #"{"detail":"The title is already taken."}"#),
    answer(422, #"{"title":"The title is already taken."}"#),
    answer(409, #"{"message":"The title is already taken."}"#, "application/json"),
    .network(answer(400, #"{"detail":"The title is already taken."}"#)),
    answer(400, #"{"detail":"The title is already taken."}"#, fields: [.contentLanguage: "fr, en-GB"]),
  ])
  func `a message is the server's own where it has one`(_ error: ReactorError) {
    #expect(error.userMessage(locale: english) == "The title is already taken.")
  }

  @Test(arguments: [
    "Open from 12:30 on 01.12.2026.", "Choose a time, e.g. 8:15.", "Wait... or ask again.", "It costs 3.50 euros.",
  ])
  func `a message with a time, a date or an abbreviation can be read`(_ words: String) {
    #expect(answer(422, #"{"detail":"\#(words)"}"#).userMessage(locale: english) == words)
  }

  @Test func `a message of the server is followed by the wait`() {
    let error = answer(429, #"{"title":"You have used up your free searches."}"#, fields: [.retryAfter: "30"])
    #expect(error.userMessage(locale: english) == "You have used up your free searches. Try again in 30 seconds.")
  }

  @Test(arguments: [
    "invalid_grant", "Conflict", "unprocessable content", "See https://example.com/a?token=s3cret", "<b>no way</b>",
    "The field user_name is wrong", "Write to ada@example.com please", "The key a1b2c3d4e5 is wrong",
    "POST /v1/orders has failed", "one\\ntwo three", "Fehler [42] ist aufgetreten",
    "Upstream 10.0.0.12:5432 refused the input", "db-internal.example.com rejected this", "The peer ::1 said no",
    "localhost:8080 is busy", "Ask fe80:0:0:0:2 again", String(repeating: "a ", count: 151) + "b",
    String(repeating: "a", count: 41) + " b",
  ])
  func `a message of the server that people cannot read is left out`(_ words: String) {
    let error = answer(422, #"{"detail":"\#(words)"}"#)
    #expect(error.userMessage(locale: english) == "This was not accepted. Check what you have entered.")
  }

  @Test func `a message of the server in another language, of its fault and of a 401 is left out`() {
    let body = #"{"detail":"The title is already taken."}"#
    let other = answer(422, body, fields: [.contentLanguage: "en"])
    #expect(other.userMessage(locale: german) == "Das wurde nicht angenommen. Bitte die Eingaben prüfen.")
    #expect(answer(500, body).userMessage(locale: english) == "Something went wrong on the server. Try again later.")
    #expect(answer(401, body).userMessage(locale: english) == "Please sign in again.")
  }

  @Test func `a message is English where the language has none, and an app adds its own`() {
    let french = Locale(identifier: "fr_CA")
    var texts = ErrorTexts()
    texts["fr", .noConnectivity] = "Vous êtes hors ligne."
    texts["en", .timedOut] = "Too slow."
    #expect(ReactorError.noConnectivity.userMessage(locale: french, texts: texts) == "Vous êtes hors ligne.")
    #expect(ReactorError.timedOut.userMessage(locale: french, texts: texts) == "Too slow.")
    #expect(ReactorError.timedOut.userMessage(locale: german, texts: texts).hasPrefix("Der Server antwortet"))
    let busy = answer(429, fields: [.retryAfter: "2"])
    #expect(busy.userMessage(locale: french, texts: texts).hasSuffix("Try again in 2 seconds."))
    texts["fr", .tooOften] = "C’était trop souvent."
    texts["fr", .retryIn] = "Réessayez dans {time}."
    #expect(busy.userMessage(locale: french, texts: texts) == "C’était trop souvent. Réessayez dans 2 secondes.")
  }

  @Test func `a message has the words of the guide`() {
    var banner = ""
    func show(_ error: ReactorError) {
      banner = error.userMessage()
    }
    show(.noConnectivity)
    #expect(!banner.isEmpty)
    let error = ReactorError.noConnectivity
    var texts = ErrorTexts()
    texts["en", .noConnectivity] = "You are offline. Your changes are safe."
    texts["fr", .noConnectivity] = "Vous êtes hors ligne."
    let message = error.userMessage(locale: Locale(identifier: "fr_CA"), texts: texts)
    #expect(message == "Vous êtes hors ligne.")
    #expect(error.userMessage(locale: english, texts: texts) == "You are offline. Your changes are safe.")
    #expect(
      answer(429, fields: [.retryAfter: "30"]).userMessage(locale: english)
        == "That was too often in a short time. Try again in 30 seconds.")
  }
}
