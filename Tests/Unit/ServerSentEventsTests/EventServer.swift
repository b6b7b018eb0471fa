import Foundation
import ReactorLoopback
import Synchronization

/// A server on the loopback interface that answers each request with the next answer, in chunks.
final class EventServer: Sendable {
  /// An answer.
  struct Answer: Sendable {
    enum End: Sendable {
      /// The last chunk: the body is whole.
      case whole
      /// The connection ends without one.
      case cut
      /// The connection stays open until the client leaves, or ``EventServer/release`` opens.
      case held
    }

    var status = 200
    var type: String? = "text/event-stream"
    var fields: [(String, String)] = []
    var pieces: [String] = []
    var end = End.whole

    static func events(_ pieces: String..., end: End = .whole) -> Answer { Answer(pieces: pieces, end: end) }
    static func status(_ status: Int, _ fields: [(String, String)] = [], body: String = "") -> Answer {
      Answer(status: status, type: "text/plain", fields: fields, pieces: body.isEmpty ? [] : [body])
    }
  }

  /// Ends the held connections.
  let release = Latch()
  /// Opens when a client has left a held connection.
  let left = Latch()
  private let server: LoopbackServer
  private let answers: [Answer]
  private let received = Mutex<[LoopbackRequest]>([])

  var url: URL { server.url }
  var requests: [LoopbackRequest] { received.withLock { $0 } }
  /// The field `Last-Event-ID` of each request.
  var positions: [String?] { requests.map { $0["Last-Event-ID"] } }

  /// Starts a server. Later requests get the last answer.
  init(_ answers: Answer...) throws {
    self.answers = answers
    server = try LoopbackServer()
    server.start { [self] in serve($0) }
  }

  func stop() {
    release.open()
    server.stop()
  }

  private func serve(_ socket: Socket) {
    var reader = RequestReader(socket: socket)
    while let request = reader.next() {
      let answer = received.withLock { received in
        received.append(request)
        return answers[min(received.count, answers.count) - 1]
      }
      guard send(answer, socket) else { return }
    }
  }

  /// Returns `true` if the connection can be used again.
  private func send(_ answer: Answer, _ socket: Socket) -> Bool {
    let type = answer.type.map { [("Content-Type", $0)] } ?? []
    guard answer.status != 204 else { return socket.send(ResponseHead.bytes(204, answer.fields)) }
    socket.send(ResponseHead.bytes(answer.status, type + [("Transfer-Encoding", "chunked")] + answer.fields))
    for piece in answer.pieces {
      socket.send(Data("\(String(piece.utf8.count, radix: 16))\r\n\(piece)\r\n".utf8))
    }
    switch answer.end {
    case .whole: return socket.send(Data("0\r\n\r\n".utf8))
    case .cut: return false
    case .held:
      if socket.wait(for: release) { return socket.send(Data("0\r\n\r\n".utf8)) }
      left.open()
      return false
    }
  }
}
