import Foundation
import HTTPTypes
import ReactorCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The texts of errors for people, by language. It has English and German; an app adds and replaces
/// texts.
///
/// ```swift
/// var texts = ErrorTexts()
/// texts["en", .noConnectivity] = "You are offline. Your changes are safe."
/// texts["fr", .noConnectivity] = "Vous êtes hors ligne."
/// banner = error.userMessage(texts: texts)
/// ```
///
/// A text that a language does not have is the English one. Texts from a String Catalog fit, too:
/// `String(localized:)` for each situation.
public struct ErrorTexts: Sendable {
  /// A cause of a failure, as far as a person needs to know. New situations may be added.
  public struct Situation: Sendable, Hashable, CaseIterable {
    private let name: String

    /// There is no connection to the Internet.
    public static let noConnectivity = Situation(name: "noConnectivity")
    /// It was cancelled. An app seldom shows this.
    public static let cancelled = Situation(name: "cancelled")
    /// The server did not answer in time.
    public static let timedOut = Situation(name: "timedOut")
    /// It was not downloaded before, and may not be now.
    public static let notSaved = Situation(name: "notSaved")
    /// There was no connection to the server, or it was lost.
    public static let connectionFailed = Situation(name: "connectionFailed")
    /// The connection to the server is not secure.
    public static let notSecure = Situation(name: "notSecure")
    /// The person has to sign in again (401).
    public static let signInAgain = Situation(name: "signInAgain")
    /// The person has no permission (403).
    public static let notAllowed = Situation(name: "notAllowed")
    /// It does not exist, or not any more (404, 410).
    public static let notFound = Situation(name: "notFound")
    /// Somebody else has changed it meanwhile (409, 412).
    public static let changedMeanwhile = Situation(name: "changedMeanwhile")
    /// It is too large for the server (413), or for this program.
    public static let tooLarge = Situation(name: "tooLarge")
    /// The server refused the input (400, 422).
    public static let refusedInput = Situation(name: "refusedInput")
    /// Too many attempts within a short time (429).
    public static let tooOften = Situation(name: "tooOften")
    /// The server is overloaded or being maintained (503).
    public static let unavailable = Situation(name: "unavailable")
    /// The server failed, or its answer cannot be read.
    public static let serverFailed = Situation(name: "serverFailed")
    /// The server refused for another reason.
    public static let refused = Situation(name: "refused")
    /// The device could not save or delete it.
    public static let storageFailed = Situation(name: "storageFailed")
    /// A mistake in the program.
    public static let programFailed = Situation(name: "programFailed")
    /// The advice to wait, after another text. `{time}` is replaced by a time such as *30 seconds*.
    public static let retryIn = Situation(name: "retryIn")
    /// The advice to try again later, after ``tooOften``, ``unavailable`` and ``serverFailed``.
    public static let retryLater = Situation(name: "retryLater")

    /// All situations.
    public static let allCases: [Situation] = [
      noConnectivity, cancelled, timedOut, notSaved, connectionFailed, notSecure, signInAgain, notAllowed, notFound,
      changedMeanwhile, tooLarge, refusedInput, tooOften, unavailable, serverFailed, refused, storageFailed,
      programFailed, retryIn, retryLater,
    ]

    /// A Boolean value that indicates whether it passes by itself.
    var passes: Bool { [.tooOften, .unavailable, .serverFailed].contains(self) }
  }

  private var texts = ["en": Self.english, "de": Self.german]

  /// Creates the texts in English and German.
  public init() {}

  /// The text of a situation in a language; `nil` if the language does not have it.
  ///
  /// - Parameter language: A code of ISO 639, such as `fr`.
  public subscript(language: String, situation: Situation) -> String? {
    get { texts[language]?[situation] }
    set { texts[language, default: [:]][situation] = newValue }
  }

  /// The languages that have texts.
  public var languages: Set<String> { Set(texts.keys) }

  /// Returns the text in the language of a locale, or else in English.
  func text(_ situation: Situation, _ locale: Locale) -> String {
    language(of: locale).flatMap { self[$0, situation] } ?? self["en", situation] ?? ""
  }

  /// Returns the locale that formats a number within a text: of the text's language.
  func locale(for locale: Locale) -> Locale {
    language(of: locale).flatMap { self[$0, .retryIn] } == nil ? Locale(identifier: "en") : locale
  }

  private func language(of locale: Locale) -> String? { locale.language.languageCode?.identifier }
}

extension ErrorTexts.Situation {
  /// Finds the situation of an error. A new case of an error does not compile without one.
  init(_ error: ReactorError) {
    self =
      switch error {
      case .noConnectivity: .noConnectivity
      case .cancelled: .cancelled
      case .timedOut: .timedOut
      case .notCached: .notSaved
      case .network(let error as ReactorError): Self(error)
      case .network(let error as URLError): Self(error)
      case .network(let error as TransportError): Self(error)
      case .network: .connectionFailed
      case .authentication: .signInAgain
      case .server(let response, _): Self(response.status)
      case .parser: .serverFailed
      case .persistence: .storageFailed
      case .invalidResource, .deadlock, .streamingUnsupported: .programFailed
      }
  }

  private init(_ error: TransportError) {
    self =
      switch error {
      case .responseTooLarge, .tooManyUnread: .tooLarge
      case .tooManyRedirects, .tooManyFields, .invalidResponse: .serverFailed
      case .notConnected, .connectionFailed: .connectionFailed
      case .notSecure: .notSecure
      }
  }

  private init(_ error: URLError) {
    self =
      switch error.code {
      case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff: .noConnectivity
      case .timedOut: .timedOut
      case .cancelled: .cancelled
      case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
        .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
        .clientCertificateRequired:
        .notSecure
      case .httpTooManyRedirects, .badServerResponse, .cannotParseResponse, .cannotDecodeContentData,
        .cannotDecodeRawData:
        .serverFailed
      case .dataLengthExceedsMaximum: .tooLarge
      case .userAuthenticationRequired: .signInAgain
      default: .connectionFailed
      }
  }

  private init(_ status: HTTPResponse.Status) {
    self =
      switch status.code {
      case 400, 422: .refusedInput
      case 401: .signInAgain
      case 403: .notAllowed
      case 404, 410: .notFound
      case 408: .timedOut
      case 409, 412: .changedMeanwhile
      case 413: .tooLarge
      case 429: .tooOften
      case 503: .unavailable
      case 504: .timedOut
      case 500...599: .serverFailed
      default: .refused
      }
  }
}
