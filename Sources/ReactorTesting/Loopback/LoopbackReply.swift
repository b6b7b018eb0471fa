package import Foundation

extension LoopbackServer {
  /// What the server does about a request: well-behaved or not.
  package struct Reply: Sendable {
    enum Step: Sendable {
      /// One write.
      case send(Data)
      /// Nothing until the gate is open; `hungUp` opens where the client goes first, which ends the reply.
      case hold(Latch, hungUp: Latch?)
      /// Ends the connection with RST instead of FIN.
      case reset
    }

    var steps: [Step]
    /// A Boolean value that indicates whether the connection takes another request after this one.
    var keepsAlive: Bool

    /// A status with its body and `Content-Length`, in one write.
    package static func status(
      _ code: Int, fields: [(String, String)] = [], body: Data = Data(), keepsAlive: Bool = true
    ) -> Reply {
      let length = code == 204 || code == 304 ? [] : [("Content-Length", "\(body.count)")]
      return Reply(steps: [.send(head(code, length + fields) + body)], keepsAlive: keepsAlive)
    }

    package static func text(_ string: String, fields: [(String, String)] = []) -> Reply {
      status(200, fields: fields, body: Data(string.utf8))
    }

    package static func redirect(_ code: Int = 302, to location: String) -> Reply {
      status(code, fields: [("Location", location)], body: Data("moved".utf8))
    }

    /// The header alone, and the connection stays open.
    package static func head(_ code: Int, fields: [(String, String)]) -> Reply {
      Reply(steps: [.send(head(code, fields))], keepsAlive: true)
    }

    /// The header alone, as for `HEAD`.
    package static func head(announcing length: Int) -> Reply {
      Reply(steps: [.send(head(200, [("Content-Length", "\(length)")]))], keepsAlive: true)
    }

    /// These bytes, and the end of the connection.
    package static func raw(_ bytes: Data) -> Reply { Reply(steps: [.send(bytes)], keepsAlive: false) }
    package static func raw(_ string: String) -> Reply { raw(Data(string.utf8)) }

    /// These bytes, and the connection stays open.
    package static func kept(_ string: String) -> Reply {
      Reply(steps: [.send(Data(string.utf8))], keepsAlive: true)
    }

    /// Announces more than it sends.
    package static func short(announcing length: Int, body: Data, fields: [(String, String)] = []) -> Reply {
      raw(head(200, [("Content-Length", "\(length)")] + fields) + body)
    }

    /// Each piece a chunk and a write of its own; without the last chunk where `isWhole` is false.
    package static func chunked(_ pieces: [Data], fields: [(String, String)] = [], isWhole: Bool = true) -> Reply {
      var steps: [Step] = [.send(head(200, [("Transfer-Encoding", "chunked")] + fields))]
      steps += pieces.map { .send(Data("\(String($0.count, radix: 16))\r\n".utf8) + $0 + Data("\r\n".utf8)) }
      if isWhole { steps.append(.send(Data("0\r\n\r\n".utf8))) }
      return Reply(steps: steps, keepsAlive: isWhole)
    }

    /// Each piece a write of its own, the next one when its latch is open, and the end of the connection.
    package static func dripping(_ pieces: [(after: Latch, bytes: Data)]) -> Reply {
      Reply(steps: pieces.flatMap { [.hold($0.after, hungUp: nil), .send($0.bytes)] }, keepsAlive: false)
    }

    /// The end of the connection instead of an answer.
    package static let close = Reply(steps: [], keepsAlive: false)

    /// RST after `bytes`.
    package static func reset(after bytes: Data = Data()) -> Reply {
      Reply(steps: (bytes.isEmpty ? [] : [.send(bytes)]) + [.reset], keepsAlive: false)
    }

    /// Sends `first`, then nothing until `gate` is open, then `rest`.
    package static func held(
      until gate: Latch, hungUp: Latch? = nil, sendingFirst first: Data = Data(), then rest: Reply = .text("held")
    ) -> Reply {
      let start: [Step] = first.isEmpty ? [] : [.send(first)]
      return Reply(steps: start + [.hold(gate, hungUp: hungUp)] + rest.steps, keepsAlive: rest.keepsAlive)
    }

    /// The status line and the header fields.
    package static func head(_ code: Int, _ fields: [(String, String)]) -> Data {
      let lines = ["HTTP/1.1 \(code) Status"] + fields.map { "\($0.0): \($0.1)" }
      return Data((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }
  }
}
