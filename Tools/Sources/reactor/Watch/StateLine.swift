import Foundation
import HTTPTypes
import ReactorCore

/// A state as one line of standard output: a JSON object with its members in a fixed order.
enum StateLine {
  /// Returns the line with its newline. `value` is the JSON as it was received, without white
  /// space, or null for a response without a body.
  static func bytes(_ state: LoadState<Data>) -> Data {
    var line = Data(#"{"value":"#.utf8)
    let json = state.value.map(CompactJSON.bytes) ?? Data()
    line += json.isEmpty ? Data("null".utf8) : json
    let error = state.error.map(object) ?? "null"
    let origin = state.origin.map { quoted(name(of: $0)) } ?? "null"
    line += Data(
      #","error":\#(error),"fetchStatus":"\#(name(of: state.fetchStatus))","origin":\#(origin),"isStale":\#(state.isStale)}"#
        .utf8)
    line.append(UInt8(ascii: "\n"))
    return line
  }

  /// Returns the error as a JSON object. The message is the one on standard error, which contains
  /// no secret.
  private static func object(_ error: ReactorError) -> String {
    let status = if case .server(let response, _) = error { #""status":\#(response.status.code),"# } else { "" }
    return #"{"kind":"\#(kind(of: error))",\#(status)"message":\#(quoted(ExitStatus(error).text))}"#
  }

  private static func kind(of error: ReactorError) -> String {
    switch error {
    case .noConnectivity: "noConnectivity"
    case .cancelled: "cancelled"
    case .timedOut: "timedOut"
    case .notCached: "notCached"
    case .invalidResource: "invalidResource"
    case .network: "network"
    case .authentication: "authentication"
    case .server: "server"
    case .parser: "parser"
    case .persistence: "persistence"
    case .deadlock: "deadlock"
    case .streamingUnsupported: "streamingUnsupported"
    @unknown default: "unknown"
    }
  }

  private static func name(of status: FetchStatus) -> String {
    switch status {
    case .idle: "idle"
    case .fetching: "fetching"
    case .paused: "paused"
    }
  }

  private static func name(of origin: Origin) -> String {
    switch origin {
    case .memory: "memory"
    case .persistence: "persistence"
    case .network: "network"
    case .fleet: "fleet"
    case .local: "local"
    }
  }

  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    // By Unicode scalars, since a quote with a combining mark is one `Character`.
    for scalar in TraceLine.oneLine(text).unicodeScalars {
      if scalar == "\"" || scalar == "\\" { quoted.unicodeScalars.append("\\") }
      quoted.unicodeScalars.append(scalar)
    }
    return quoted + "\""
  }
}
