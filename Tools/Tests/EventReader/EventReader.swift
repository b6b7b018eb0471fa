import Foundation
import ReactorCore
import ServerSentEvents

/// Prints the events of a stream as lines of JSON: `EventReader URL PATH [LAST-EVENT-ID]`. A check
/// runs it before servers that others have written.
@main
struct EventReader {
  private struct Line: Encodable {
    var type: String
    var data: String
    var id: String
  }

  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count > 2, let base = URL(string: arguments[1]) else { return }
    let source = EventSource(
      Backend(baseURL: base), Resource("\(arguments[2])"), lastEventID: arguments.count > 3 ? arguments[3] : "")
    for try await event in source {
      let line = try JSONEncoder().encode(Line(type: event.type, data: event.data, id: event.id))
      FileHandle.standardOutput.write(line + Data("\n".utf8))
    }
  }
}
