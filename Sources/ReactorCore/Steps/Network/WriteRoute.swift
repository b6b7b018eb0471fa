import Foundation
package import HTTPTypes

/// The way of a write to its answer, as far as it says whether the server has carried the write out
/// (RFC 9110 §15.4).
package struct WriteRoute: Sendable {
  /// The status of the redirect that has turned the write into a `GET`, or that was not followed;
  /// `nil` without a redirect.
  package var redirect: Int?
  /// The target of that redirect, as the server has spelled it.
  package var target: String?
  /// A Boolean value that indicates whether the redirect leads to a URL that differs only in a
  /// final slash.
  package var hasMoved = false
  /// A Boolean value that indicates whether another origin has answered, or the redirect leads to
  /// one.
  package var isFromOtherOrigin = false
  /// A Boolean value that indicates whether the answer is a page for a person, which the write did
  /// not expect.
  package var isWebPage = false

  package init() {}

  package enum Verdict: Sendable {
    /// The answer itself says what has become of the write.
    case answered
    case carriedOut
    case notCarriedOut
    /// A web page or another origin has answered. The write may have been carried out, and another
    /// attempt would end the same way.
    case diverted
  }

  /// Returns the verdict of the redirects about the write.
  ///
  /// A 303 says that it was carried out, whatever happens to the `GET`. After a 302, the response
  /// must look like a result, since a 302 may also lead to a sign-in page. A 301, 307 or 308 says
  /// that the target is elsewhere, and a `GET` of it is not the write.
  ///
  /// - Parameter isSuccess: `true` if the final answer is a success.
  package func verdict(isSuccess: Bool) -> Verdict {
    switch redirect {
    case nil: isWebPage ? .diverted : .answered
    case 301, 307, 308: .notCarriedOut
    case 303: isFromOtherOrigin || isWebPage ? .diverted : .carriedOut
    default:
      if !isSuccess || isFromOtherOrigin || isWebPage { .diverted } else { hasMoved ? .notCarriedOut : .carriedOut }
    }
  }
}

extension WriteRoute {
  /// - Parameters:
  ///   - trail: The hops of the write. A middleware may have called the transport before, and have
  ///     done something about that answer, so the latest call counts.
  ///   - answer: The final answer; `nil` if no response arrived.
  init(of write: HTTPRequest, _ trail: RedirectTrail, answer: (HTTPResponse, Data)?) {
    let followed = trail.latestHops.last(where: \.becameGet)
    if let redirect = followed?.response ?? answer?.0, redirect.isAimedRedirect {
      self.redirect = redirect.status.code
      target = redirect.headerFields[.location]
      note(from: (followed ?? trail.latestHops.last)?.request.url ?? write.url, to: target)
    }
    isFromOtherOrigin = isFromOtherOrigin || trail.hasChangedOrigin
    if let answer, Self.isWebPage(answer.0, answer.1) {
      isWebPage = !(write.headerFields[.accept] ?? "").lowercased().contains("html")
    }
  }

  private mutating func note(from: URL?, to target: String?) {
    guard let from, let to = target.flatMap({ URL(string: $0, relativeTo: from) })?.absoluteURL,
      let origin = WebOrigin(from)
    else { return }
    isFromOtherOrigin = WebOrigin(to) != origin
    let (old, new) = (from.path(percentEncoded: true), to.path(percentEncoded: true))
    hasMoved = old + "/" == new || old == new + "/"
  }

  /// Returns a Boolean value that indicates whether a success is a page for a person, such as a
  /// sign-in form or a captive portal. The media type alone proves nothing, since some frameworks
  /// send `text/html` with everything.
  private static func isWebPage(_ response: HTTPResponse, _ body: Data) -> Bool {
    guard [200, 203].contains(response.status.code), response.headerFields.isHTML else { return false }
    let start = String(decoding: body.prefix(512), as: UTF8.self).drop { $0.isWhitespace || $0 == "\u{FEFF}" }
      .lowercased()
    return start.hasPrefix("<!doctype html") || start.hasPrefix("<html")
  }
}

extension HTTPResponse {
  /// A Boolean value that indicates whether the response is a redirect that says where to.
  fileprivate var isAimedRedirect: Bool {
    [301, 302, 303, 307, 308].contains(status.code) && headerFields.contains(.location)
  }
}

extension HTTPFields {
  /// A Boolean value that indicates whether the content is said to be HTML.
  package var isHTML: Bool { self[.contentType]?.lowercased().contains("html") == true }
}

extension ReactorError {
  /// The error of a write that was answered by a redirect to another request, or by a web page such
  /// as a sign-in form. It arrives as ``network(_:)``.
  ///
  /// ```swift
  /// do {
  ///   try await layer.send(comment)
  /// } catch .network(let error as ReactorError.Diverted) {
  ///   askToSignIn(at: error.target)
  /// }
  /// ```
  ///
  /// After a 301, 307 or 308, the server has not carried out the write. Otherwise it may have.
  public struct Diverted: Error, Hashable, CustomStringConvertible {
    /// The target of the redirect, as the server has spelled it; `nil` for a page without one.
    public let target: String?

    /// Creates the error, for your own middleware or check.
    public init(to target: String? = nil) { self.target = target }

    /// A sentence with the remedy, without the query of the target.
    public var description: String {
      guard let target else {
        return "a web page has answered the write, as of a sign-in or of a network's gate; sign in, then try again"
      }
      let place = Redaction.withoutQueries(target)
      return
        "the server has redirected the write to \(place), which is no answer to it; if the resource has moved, change its URL, or sign in, then try again"
    }
  }

  /// The error of a write that a sign-in page or another origin answered; `nil` for any other
  /// error.
  package var diverted: Diverted? {
    switch self {
    case .network(let error as Diverted): error
    case .network(let error as ReactorError): error.diverted
    default: nil
    }
  }
}
