import Foundation
import HTTPTypes
import ReactorCore

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

  init(_ error: ReactorError) {
    switch error {
    case .noConnectivity:
      self.init(code: Self.unavailable, text: "no connectivity, so nothing was sent; try again when online")
    case .network(let cause): self.init(code: Self.unavailable, text: NetworkFailureText.text(cause) ?? "\(error)")
    case .cancelled: self.init(code: Self.interrupted, text: "interrupted")
    case .timedOut: self.init(code: Self.timedOut, text: "timed out; try again, or give more time with --timeout")
    case .notCached:
      self.init(
        code: Self.notCached,
        text: "not cached: the store has nothing for this request; choose a --policy that asks the server")
    case .invalidResource(let reason): self.init(code: Self.usage, text: reason)
    case .authentication: self.init(code: Self.server, text: "\(error)")
    case .server(let response, let body):
      self.init(code: Self.server, text: "the server answered \(response.status.code)", body: body)
    case .parser(let error): self.init(code: Self.unparsable, text: "cannot be parsed: \(error)")
    case .persistence: self.init(code: Self.inputOutput, text: "\(error)")
    case .deadlock: self.init(code: Self.failed, text: "\(error)")
    @unknown default: self.init(code: Self.unknown, text: "\(error)")
    }
  }

  /// Writes the text as one line to standard error, and then the body.
  func report() {
    StandardStream.error.writeLine("reactor: \(TraceLine.oneLine(text))")
    guard !body.isEmpty else { return }
    try? StandardStream.error.write(body + (body.last == UInt8(ascii: "\n") ? Data() : Data("\n".utf8)))
  }
}
