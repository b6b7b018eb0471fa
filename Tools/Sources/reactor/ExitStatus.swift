import Foundation
import HTTPTypes
import ReactorCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The end of a command: the exit code, and the text for standard error.
struct ExitStatus: Hashable, Sendable {
  var code: Int32
  var text: String
  /// The body of the server's answer, printed as it was received.
  var body = Data()

  /// 1: a fetch would wait for itself.
  static let failed: Int32 = 1
  /// `EX_USAGE`: the arguments are invalid.
  static let usage: Int32 = 64
  /// `EX_DATAERR`: the bytes could not be parsed.
  static let unparsable: Int32 = 65
  /// `EX_NOINPUT`: nothing is stored for the request.
  static let notCached: Int32 = 66
  /// `EX_UNAVAILABLE`: no connectivity, or the transport failed.
  static let unavailable: Int32 = 69
  /// `EX_SOFTWARE`: an error that this version does not know.
  static let unknown: Int32 = 70
  /// `EX_IOERR`: persistence or standard output failed.
  static let inputOutput: Int32 = 74
  /// `EX_TEMPFAIL`: timed out.
  static let timedOut: Int32 = 75
  /// `EX_PROTOCOL`: the server answered with an error status.
  static let server: Int32 = 76
  /// The status that a shell reports for a process that SIGINT ended.
  static let interrupted: Int32 = 130

  static let unwritableOutput = ExitStatus(code: inputOutput, text: "standard output cannot be written to")

  init(code: Int32, text: String, body: Data = Data()) {
    self.code = code
    self.text = text
    self.body = body
  }

  /// Creates the end for an error, in words that name the request, what happened, and what to do.
  ///
  /// - Parameter request: The request, for an error that does not name it; `nil` leaves it out.
  init(_ error: ReactorError, of request: FetchedRequest? = nil) {
    let isUnsafe = request.map { !$0.method.isSafe } ?? false
    func text(_ failure: FailureText?) -> String {
      let name = error.request ?? request?.text
      // The library's own text names the request where the error has it.
      guard let failure else { return Self.joined(error.request == nil ? name : nil, "\(error)", nil) }
      return Self.joined(name, failure.what, failure.advice)
    }
    switch error {
    case .noConnectivity: self.init(code: Self.unavailable, text: text(.noConnectivity(isUnsafe: isUnsafe)))
    case .network(let cause):
      let failure = (cause as? URLError).flatMap { FailureText($0, isUnsafe: isUnsafe) }
      let doubt = failure == nil && isUnsafe ? "; \(FailureText.doubt)" : ""
      self.init(code: Self.unavailable, text: text(failure) + doubt)
    case .cancelled: self.init(code: Self.interrupted, text: "interrupted")
    case .timedOut: self.init(code: Self.timedOut, text: text(.timedOut(isUnsafe: isUnsafe)))
    case .notCached: self.init(code: Self.notCached, text: text(.notCached))
    case .invalidResource(let reason): self.init(code: Self.usage, text: reason)
    case .authentication: self.init(code: Self.server, text: text(nil))
    case .server(let response, let body):
      self.init(code: Self.server, text: text(.answered(response.status)), body: body)
    case .parser(let error): self.init(code: Self.unparsable, text: text(.unreadable(error, isUnsafe: isUnsafe)))
    case .persistence: self.init(code: Self.inputOutput, text: "\(error)")
    case .deadlock, .streamingUnsupported: self.init(code: Self.failed, text: text(nil))
    @unknown default: self.init(code: Self.unknown, text: text(nil))
    }
  }

  private static func joined(_ request: String?, _ what: String, _ advice: String?) -> String {
    (request.map { "\($0): " } ?? "") + what + (advice.map { "; \($0)" } ?? "")
  }

  /// Writes the text as one line to standard error, and then the body.
  func report() {
    StandardStream.error.writeLine("reactor: \(TraceLine.oneLine(text))")
    guard !body.isEmpty else { return }
    try? StandardStream.error.write(body + (body.last == UInt8(ascii: "\n") ? Data() : Data("\n".utf8)))
  }
}
